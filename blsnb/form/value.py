"""A value for an input, with the code that makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class FieldError(ValueError):
    """An entry of a form is invalid; the text is shown beside its field."""


class Value(NamedTuple):
    """A value for an input."""

    value: Any
    code: str
    """Python expression of the value."""
    note: str = ""
    """What was done to get the value."""
    imports: tuple[str, ...] = ()
    """Statements that the code needs."""


class ValueSteps:
    """A value and its code, converted step by step.

    Parameters
    ----------
    result, code
        The first value and its expression.
    imports
        Statements that the expression needs.
    """

    def __init__(self, result: Any, code: str, imports: Sequence[str] = ()) -> None:
        self.result = result
        self._code = code
        self._imports = [*imports, "import numpy as np"]

    def then(self, convert: Callable[[Any], Any], code: str) -> None:
        """Convert the value.

        Parameters
        ----------
        code
            The conversion in Python, with ``{}`` in the place of the value.
        """
        self.result = convert(self.result)
        self._code = code.replace("{}", self._code)

    def value(self, note: str = "") -> Value:
        """Return the value with a note on what was done."""
        return Value(self.result, self._code, note, tuple(self._imports))
