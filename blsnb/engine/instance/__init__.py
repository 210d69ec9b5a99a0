"""Instances of models, and what executes on them."""
