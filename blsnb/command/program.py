"""Find the subcommand, run it, and return its exit status.

0: success. 1: a test failed or a response differs. 2: the command could not be run; a
line on stderr says why.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import NamedTuple

from blsnb.command.arguments import CommandError
from blsnb.errors import BlsnbError

_FAILED = 2
_INTERRUPTED = 130
_PIPE_CLOSED = 141
"""The shell's exit status of a process ended by SIGINT or SIGPIPE."""


class ProgramSubcommand(NamedTuple):
    """The usage and the summary of a subcommand."""

    usage: str
    summary: str


# Each is a module of this package with a function `run`, imported when it is used.
SUBCOMMANDS = {
    "evaluate": ProgramSubcommand(
        "REPOSITORY NAME ROWS [--metric MODULE:FUNCTION] [--at-least METRIC=NUMBER] "
        "[--json]",
        "send each row of a data set to a model, and measure the answers",
    ),
    "lab": ProgramSubcommand(
        "[FOLDER] [OPTION ...]", "open the tutorial notebooks in JupyterLab"
    ),
    "panel": ProgramSubcommand(
        "[--remove]", "link the panel of JupyterLab into this environment"
    ),
    "recorder": ProgramSubcommand(
        "install | status | uninstall [--python ENV]",
        "record the models of a production server, to replay their requests here",
    ),
    "serve": ProgramSubcommand(
        "REPOSITORY ... [--http PORT] [--grpc PORT] [--metrics PORT] [--host ADDRESS]",
        "serve model repositories over HTTP and gRPC, as a Triton server does",
    ),
    "test": ProgramSubcommand(
        "REPOSITORY [OPTION ...]", "run a model repository's own tests with pytest"
    ),
    "trace": ProgramSubcommand(
        "FILE [--html | --svg | --perfetto FILE]",
        "show a recorded run, or a trace file of a Triton server",
    ),
    "verify": ProgramSubcommand(
        "REPOSITORY NAME [INPUT=EXPRESSION ...] [OPTION ...]",
        "send the same requests to a real Triton server, and compare the responses",
    ),
    "watch": ProgramSubcommand(
        "[FILE] [--listen ADDRESS] [--port PORT] [--server URL] [--rate N] "
        "[--level LEVEL] [--count N] [--model NAME] [--id ID] [--slower-than MS]",
        "list the requests of a real Triton server as they end, or those of a file",
    ),
}


def help_text() -> str:
    """Return the text of ``blsnb --help``: each subcommand and its summary."""
    rows = [
        f"  blsnb {name} {each.usage}\n      {each.summary}"
        for name, each in SUBCOMMANDS.items()
    ]
    listed = "\n".join(rows)
    return (
        "For the terminal what %triton is for notebooks.\n\n"
        f"usage: blsnb SUBCOMMAND ...\n\n{listed}\n\n"
        "blsnb SUBCOMMAND --help shows its options; blsnb --version the version.\n"
        "Exit status: 0 success; 1 a test failed or an answer differs; 2 the command "
        "could not be run.\n"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    words
        The words after ``blsnb``; those of the process if None.
    """
    name, *rest = [*(sys.argv[1:] if words is None else words)] or ["--help"]
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    try:
        status = _run(name, rest)
        # A closed pipe must raise here, not when the process ends. There may be no
        # stdout: print then does nothing.
        print(end="", flush=True)
    except SystemExit as exit_:
        # Raised by options such as --help.
        return exit_.code if isinstance(exit_.code, int) else 0
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Discard the rest of the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except (CommandError, BlsnbError, OSError) as error:
        print(f"blsnb {name}: {error}", file=sys.stderr)
        return _FAILED
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
        raise CommandError(f"there is no such subcommand; there are {known}")
    status: int = importlib.import_module(f"blsnb.command.{name}").run(words)
    return status
