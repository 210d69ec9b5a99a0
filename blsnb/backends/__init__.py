"""Backends: what runs models that are no Python models, one file each."""
