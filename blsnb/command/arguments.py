"""Parse the arguments of the command line, and pass them on to other programs."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from blsnb.options import options


class CommandError(Exception):
    """The command cannot be run as written; the text says why in one line."""


class Parser(argparse.ArgumentParser):
    """The parser of a subcommand; it raises errors of one line."""

    def __init__(self, name: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=f"blsnb {name}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        # Python 3.14 and later colour the help by default.
        self.color = False

    def add_release(self) -> None:
        """Add the option for the release of Triton."""
        self.add_argument(
            "--triton-release",
            metavar="RELEASE",
            help="release of Triton to follow, such as 24.10 (the newest known)",
        )

    def add_read_limit(self) -> None:
        """Add the option for the memory limit of reading."""
        self.add_argument(
            "--read-limit-bytes",
            metavar="N",
            type=_set_read_limit,
            help="memory that reading one file or one compressed body may use (64 "
            "times its size, at least 1 MiB and at most 256 MiB)",
        )

    def error(self, message: str) -> NoReturn:
        """Raise the message with a reference to the help."""
        raise CommandError(f"{message} (see {self.prog} --help)")


def _set_read_limit(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes")
    options.read_limit_bytes = int(text)
    return int(text)


def first(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the first word, if it is not an option, and the other words."""
    if not words or words[0].startswith("-"):
        return None, list(words)
    return words[0], list(words[1:])


def shows_help(words: Sequence[str], text: str) -> bool:
    """Print the help if the first word requests it; return whether it does."""
    is_asked = words[:1] in (["--help"], ["-h"])
    print(text * is_asked, end="")
    return is_asked


def check_installed(module: str, package: str) -> None:
    """Raise an error that names the package to install if a module is missing."""
    if importlib.util.find_spec(module) is None:
        raise CommandError(
            f"{module} is not installed: {sys.executable} -m pip install {package!r}"
        )


def become(module: str, words: Sequence[str]) -> NoReturn:
    """Replace this process by ``python -m module``, which receives all signals."""
    print(end="", flush=True)
    os.execv(sys.executable, [sys.executable, "-m", module, *words])
