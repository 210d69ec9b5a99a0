"""Errors as a notebook shows them."""
