"""The command ``blsnb``: what ``%triton`` does in a notebook, in a terminal."""

from blsnb.command.program import main

__all__ = ["main"]
