"""The program: finds the subcommand, runs it, and ends with a status.

0: done. 1: done, and what was looked at is not as it should be. 2: it could not be
done, and a line on stderr says why.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import NamedTuple

from blsnb.command.words import Mistake
from blsnb.errors import BlsnbError

MISTAKE = 2
_INTERRUPTED = 130
_PIPE_CLOSED = 141
"""As a shell tells of a process that a signal has ended: SIGINT, SIGPIPE."""


class Subcommand(NamedTuple):
    """One subcommand: how it is written, and what it does."""

    usage: str
    summary: str


# Each is a module of this room with a function `run`, imported when it is asked for.
SUBCOMMANDS = {
    "lab": Subcommand(
        "[FOLDER] [OPTION ...]", "open the tutorial notebooks in JupyterLab"
    ),
    "serve": Subcommand(
        "REPOSITORY ... [--http PORT] [--grpc PORT] [--metrics PORT] [--host ADDRESS]",
        "serve model repositories over HTTP and gRPC, as a Triton server does",
    ),
    "test": Subcommand(
        "REPOSITORY [OPTION ...]", "run a model repository's own tests with pytest"
    ),
    "trace": Subcommand(
        "FILE [--html | --svg | --perfetto FILE]",
        "show a recorded run, or a trace file of a Triton server",
    ),
    "verify": Subcommand(
        "REPOSITORY NAME [INPUT=EXPRESSION ...] [OPTION ...]",
        "make the same requests on a real Triton server, and compare the answers",
    ),
}


def help_text() -> str:
    """Return what ``blsnb --help`` prints: each subcommand, and what it does."""
    rows = [
        f"  blsnb {name} {each.usage}\n      {each.summary}"
        for name, each in SUBCOMMANDS.items()
    ]
    listed = "\n".join(rows)
    return (
        "What %triton does in a notebook, in a terminal.\n\n"
        f"usage: blsnb SUBCOMMAND ...\n\n{listed}\n\n"
        "blsnb SUBCOMMAND --help tells more; blsnb --version, which one this is.\n"
        "Exit status: 0 done; 1 done, but a test failed or an answer differs; 2 not "
        "done.\n"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status.

    Parameters
    ----------
    words
        Those after ``blsnb``; of the process if None.
    """
    name, *rest = [*(sys.argv[1:] if words is None else words)] or ["--help"]
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    try:
        status = _run(name, rest)
        # Else a reader that has gone is met when the process ends.
        sys.stdout.flush()
    except SystemExit as asked:
        # An option such as --help ends so.
        return asked.code if isinstance(asked.code, int) else 0
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # What is still to be written goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except (Mistake, BlsnbError, OSError) as error:
        print(f"blsnb {name}: {error}", file=sys.stderr)
        return MISTAKE
    return status


def _run(name: str, words: list[str]) -> int:
    if name in ("--help", "-h", "help"):
        print(help_text(), end="")
        return 0
    if name == "--version":
        print(f"blsnb {metadata.version('blsnb')}")
        return 0
    if name not in SUBCOMMANDS:
        known = ", ".join(SUBCOMMANDS)
        raise Mistake(f"there is no such subcommand; there are {known}")
    status: int = importlib.import_module(f"blsnb.command.{name}").run(words)
    return status
