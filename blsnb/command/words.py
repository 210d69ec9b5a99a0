"""Words of the command line: parsed, or found to be a mistake."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from blsnb.options import options


class Mistake(Exception):
    """What the user asked for cannot be done; the text says why, in one line."""


class Parser(argparse.ArgumentParser):
    """The parser of a subcommand, which says in one line what is wrong."""

    def __init__(self, name: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=f"blsnb {name}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        # From Python 3.14 on, help is coloured unless told otherwise.
        self.color = False

    def add_release(self) -> None:
        """Add the release to agree with."""
        self.add_argument(
            "--triton-release",
            metavar="RELEASE",
            help="release of Triton to agree with, such as 24.10 (the newest known)",
        )

    def add_read_limit(self) -> None:
        """Add the limit of memory for reading files and compressed bodies."""
        self.add_argument(
            "--read-limit-bytes",
            metavar="N",
            type=_set_read_limit,
            help="memory that reading one file or one compressed body may use (64 "
            "times its size, at least 1 MiB and at most 256 MiB)",
        )

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong, and where to read more."""
        raise Mistake(f"{message} (see {self.prog} --help)")


def _set_read_limit(text: str) -> int:
    limit = int(text)
    if limit < 0:
        raise argparse.ArgumentTypeError(f"{limit} is negative; expected bytes")
    options.read_limit_bytes = limit
    return limit


def first(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the first word, if it is no option, and the words after it."""
    if not words or words[0].startswith("-"):
        return None, list(words)
    return words[0], list(words[1:])


def asks_for_help(words: Sequence[str]) -> bool:
    """Whether the first word does."""
    return words[:1] in (["--help"], ["-h"])
