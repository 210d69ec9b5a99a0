"""The structure of ``blsnb/``: measured, and held against ``limits.toml``."""
