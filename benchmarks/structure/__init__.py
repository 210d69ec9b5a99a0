"""Measurements of the structure of ``blsnb/``, compared with ``limits.toml``."""
