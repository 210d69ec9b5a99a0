"""Loads and unloads: from a model's folder to versions that serve."""
