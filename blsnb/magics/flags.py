"""Options of magics: one parser, whose help is the docstring of its magic."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn, TypeVar

from IPython.core.error import UsageError

from blsnb.repository.directory import MAX_VERSION

Function = TypeVar("Function", bound=Callable[..., Any])


_SPLIT_SPEC = r":?[A-Z][A-Z0-9_]+\[[-+\d,]*\]"
"""Type and dimensions of a tensor without its name."""
_OPTION = r"(?<!\S)--[a-z][\w-]*"
_VALUE = r""""[^"]*"|'[^']*'|\S+"""


class HelpShown(Exception):
    """The help was requested and has been printed."""


class OptionValues(NamedTuple):
    """The values that an option takes.

    Parameters
    ----------
    choices
        All valid values; empty for a free one.
    metavar
        Name of the value in the usage; empty if each value has its own.
    may_be_left_out
        Whether another option may follow at once.
    """

    choices: tuple[str, ...]
    metavar: str
    may_be_left_out: bool


class Flags(argparse.ArgumentParser):
    """An argument parser that raises instead of ending the process."""

    def __init__(self, name: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=name,
            description=description,
            epilog=epilog,
            formatter_class=_plain,
            allow_abbrev=False,
            add_help=False,
        )
        # Python 3.14 and later colour the help by default.
        self.color = False
        self._words: list[str] = []
        self.add_argument("--help", action=_Help, nargs=0, help="show this text")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse words.

        Raises
        ------
        UsageError
            The words are wrong; the message contains the usage.
        HelpShown
            The help was requested and has been printed.
        """
        self._words = [*words]
        return self.parse_args(words)

    def option_strings(self) -> list[str]:
        """Return all options, such as ``--version``, sorted."""
        return sorted(self._option_string_actions)

    def values_of(self, option: str) -> OptionValues | None:
        """Return what may follow an option; None if it takes no value."""
        action = self._option_string_actions.get(option)
        if action is None or action.nargs == 0:
            return None
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        choices = tuple(map(str, action.choices or ()))
        return OptionValues(choices, metavar, action.nargs in ("?", "*"))

    def split_options(self, text: str) -> tuple[list[str], str]:
        """Return the options with their values as written, and the rest of the text.

        Options may stand anywhere among inputs, whose expressions may have spaces.

        Raises
        ------
        UsageError
            The rest has an unknown option.
        """
        found: list[str] = []

        def take(match: re.Match[str]) -> str:
            found.append(match.group())
            return ""

        rest = re.sub("|".join(self._patterns()), take, text)
        if unknown := re.findall(_OPTION, rest):
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, rest

    def _patterns(self) -> Iterator[str]:
        for name, action in self._option_string_actions.items():
            value = "" if action.nargs == 0 else rf"(?:\s+(?!--)(?:{_VALUE}))?"
            yield rf"(?<!\S){re.escape(name)}(?!\S){value}"

    def error(self, message: str) -> NoReturn:
        """Raise an error with the message, a similar option, and the usage."""
        raise UsageError(
            f"{self._magic}: {message}{self._similar(message)}\n\n"
            f"{self.format_usage()}\n{self._magic} --help explains all options."
        )

    @property
    def _magic(self) -> str:
        """The magic and its subcommand, without arguments."""
        found = re.match(r"%+\w+( [a-z]+)?", self.prog)
        return found.group() if found else self.prog

    def _similar(self, message: str) -> str:
        """Return the known options similar to unknown ones, as a question."""
        if not message.startswith("unrecognized"):
            return ""
        words = message.split()
        if split := [word for word in words if re.fullmatch(_SPLIT_SPEC, word)]:
            pairs = pairwise(self._words)
            name = next((a for a, b in pairs if b == split[0]), "NAME").rstrip(":")
            spec = f"{name}:{split[0].lstrip(':')}"
            return f". A tensor is one word: did you mean {spec}, without a space?"
        unknown = [word for word in words if word.startswith("-")]
        known = self.option_strings()
        close = [
            found
            for word in unknown
            for found in difflib.get_close_matches(word.replace("_", "-"), known, 1)
        ]
        return f". Did you mean {' '.join(close)}?" if close else ""


def _plain(prog: str) -> argparse.HelpFormatter:
    """Format help with a fixed width, because it is also a docstring."""
    return argparse.RawDescriptionHelpFormatter(prog, width=79, max_help_position=27)


class _Help(argparse.Action):
    """Prints the help and leaves the parser."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> NoReturn:
        print(parser.format_help())
        raise HelpShown


def documented(text: str) -> Callable[[Function], Function]:
    """Use a text as the docstring of a magic."""

    def decorate(function: Function) -> Function:
        function.__doc__ = text
        return function

    return decorate


_MODEL_TEXT = """\
Make this cell a Triton Python model: its text is the model.py, to the letter.

The model is written into the kernel's private repository and loaded at once.
The cell never runs in the notebook's own namespace, and a model cannot see
the notebook's variables: hand it files with --file, or parameters in its
configuration. If it does not load, the previous version still serves.
"""
_MODEL_NOTES = """\
{name} and $name are replaced by values of notebook variables.

Written as %triton_model on the first line of an ordinary cell, the cell runs
as usual first, and then becomes the model: everything below that line is the
model.py. In both forms line n of model.py is line n + 1 of the cell.

An option and a configuration (of --config or %%triton_config) that disagree
are an error. With neither, auto_complete_config fills the configuration in.
"""


def model_flags() -> Flags:
    """Return the parser of ``%%triton_model``."""
    flags = Flags("%%triton_model", _MODEL_TEXT, _MODEL_NOTES)
    add = flags.add_argument
    add("name", metavar="NAME", help="name of the model")
    add("--version", type=_version, default=1, metavar="N", help="version (1)")
    add(
        "--config",
        metavar="NAME_OR_PATH",
        help="a variable that holds a config.pbtxt, or a path to one",
    )
    for direction in ("input", "output"):
        add(
            f"--{direction}",
            action="append",
            default=[],
            metavar="SPEC",
            help=f"an {direction} such as NAME:FP32[3,-1], without the batch "
            "dimension; may be repeated"
            + ("; NAME?:... for an optional one" if direction == "input" else ""),
        )
    add(
        "--max-batch-size",
        type=int,
        metavar="N",
        help="largest batch; 0 for a model that does not batch",
    )
    add("--instances", type=int, metavar="N", help="number of instances")
    add("--kind", choices=("cpu", "gpu"), help="where the instances run")
    add(
        "--dynamic-batching",
        nargs="?",
        type=int,
        const=True,
        metavar="DELAY_US",
        help="batch waiting requests; maximum delay in microseconds",
    )
    add(
        "--decoupled",
        action="store_true",
        help="the model sends any number of responses",
    )
    add(
        "--file",
        action="append",
        default=[],
        metavar="PATH[:DEST]",
        help="a file or folder to put beside model.py: weights, labels, modules; "
        "may be repeated",
    )
    add("--quiet", action="store_true", help="show no card")
    return flags


def _version(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_VERSION:
        raise argparse.ArgumentTypeError(
            f"version {text} is not valid; versions are from 0 to {MAX_VERSION:,}"
        )
    return int(text)
