"""Find the subcommand, run it, and return its exit status.

0: success. 1: a test failed or a response differs. 2: the command could not be run; a
line on stderr says why.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from blsnb.command.arguments import CommandError
from blsnb.errors import BlsnbError

_FAILED = 2
_INTERRUPTED = 130
_PIPE_CLOSED = 141
"""The shell's exit status of a process ended by SIGINT or SIGPIPE."""
_HELP = Path(__file__).with_name("help.txt")


def help_text() -> str:
    """Return the text of ``blsnb --help``: each subcommand and its summary."""
    return _HELP.read_text("utf-8")


def subcommands() -> list[str]:
    """Return the subcommands in the help; each is a module here that has ``run``."""
    return re.findall(r"^  blsnb (\w+)", help_text(), re.M)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    words
        The words after ``blsnb``; those of the process if None.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # As on stderr: the encoding may lack characters of results.
        sys.stdout.reconfigure(errors="backslashreplace")
    name, *rest = [*(sys.argv[1:] if words is None else words)] or ["--help"]
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    try:
        status = _run(name, rest)
        # A closed pipe must raise here, not when the process ends. There may be no
        # stdout: print then does nothing.
        print(end="", flush=True)
    except SystemExit as exit_:
        # Raised by options such as --help, or by code that a command imports.
        return _exit_status(exit_.code)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Discard the rest of the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except (CommandError, BlsnbError, OSError) as error:
        print(f"blsnb {name}: {error}", file=sys.stderr)
        return _FAILED
    except Exception:
        # The status of Python would be that of a failed test.
        traceback.print_exc()
        return _FAILED
    return status


def _exit_status(code: object) -> int:
    """Return the status of a SystemExit by Python's rule; a text goes to stderr."""
    if isinstance(code, int | None):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def _run(name: str, words: list[str]) -> int:
    if name in ("--help", "-h", "help"):
        print(help_text(), end="")
        return 0
    if name == "--version":
        print(f"blsnb {metadata.version('blsnb')}")
        return 0
    if name not in subcommands():
        known = ", ".join(subcommands())
        raise CommandError(f"there is no such subcommand; there are {known}")
    status: int = importlib.import_module(f"blsnb.command.{name}").run(words)
    return status
