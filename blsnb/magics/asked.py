"""Asked: the model, the inputs and the options that a line of ``%triton`` names."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from IPython.core.error import UsageError

from blsnb.magics import line
from blsnb.magics.flags import Flags

# In an expression it would be a name, negated twice.
_OPTION = re.compile(r"(?<!\S)--[a-z][\w-]*")

Evaluate = Callable[[str, str, dict[str, Any]], Any]


class Asked(NamedTuple):
    """What is asked of a model."""

    name: str
    inputs: dict[str, Any]
    options: argparse.Namespace


def asked(
    text: str,
    namespace: dict[str, Any],
    evaluate: Evaluate,
    flags: Flags,
    command: str,
    usage: str,
) -> Asked:
    """Read ``NAME INPUT=EXPRESSION ...`` with options anywhere among them.

    Parameters
    ----------
    evaluate
        Returns the value of an input's expression.
    command, usage
        How it is called and written, for whoever writes it otherwise.

    Raises
    ------
    UsageError
        The text is wrong.
    HelpAsked
        The help was asked for, and has been printed.
    """
    options, rest = flags.apart(text)
    words = [word for part in options for word in line.words(part, namespace)]
    given = flags.parse(words)
    if unknown := _OPTION.search(rest):
        raise UsageError(f"{command} has no option {unknown[0]}")
    name, _, assigned = rest.strip().partition(" ")
    if not name or "=" in name:
        raise UsageError(f"usage: {command} {usage}")
    inputs = {
        tensor: evaluate(tensor, expression, namespace)
        for tensor, expression in line.assignments(assigned.strip()).items()
    }
    return Asked(line.expand(name, namespace), inputs, given)
