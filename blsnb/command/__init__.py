"""The command ``blsnb``: for the terminal what ``%triton`` is for notebooks."""

from blsnb.command.program import main

__all__ = ["main"]
