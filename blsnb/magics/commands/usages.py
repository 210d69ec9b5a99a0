"""Arguments and summaries of the subcommands of ``%triton``.

The help of ``%triton`` needs them before the module of a subcommand is imported.
"""

from __future__ import annotations

from pathlib import Path

from IPython.core.error import UsageError

from blsnb.magics.line import Line
from blsnb.runtimes import NAMES

_TABLE = Path(__file__).with_name("usages.txt")
"""A line with a subcommand and its arguments, and an indented one with its summary."""
USAGES: dict[str, str] = {}
"""Arguments by subcommand."""
SUMMARIES: dict[str, str] = {}
"""What each subcommand does, for its help."""
_lines = iter(_TABLE.read_text("utf-8").format(runtimes=" | ".join(NAMES)).splitlines())
for _usage, _summary in zip(_lines, _lines, strict=True):
    _name, _, USAGES[_name] = _usage.partition(" ")
    SUMMARIES[_name] = _summary.strip()


def usage_of(subcommand: str) -> str:
    """Return a subcommand with its arguments, as it is typed."""
    return f"%triton {subcommand} {USAGES[subcommand]}".rstrip()


def only_word(line: Line, subcommand: str) -> str:
    """Return the only word of a line; raise an error with the usage for others."""
    words = line.words
    if len(words) != 1 or words[0].startswith("-"):
        raise UsageError(f"usage: {usage_of(subcommand)}")
    return words[0]
