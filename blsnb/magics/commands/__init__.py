"""Subcommands of ``%triton``."""
