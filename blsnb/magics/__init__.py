"""Magics, displays and completion in notebooks."""
