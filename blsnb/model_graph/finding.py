"""A probable fault of a model, found without a run."""

from __future__ import annotations

from dataclasses import dataclass

from blsnb.printable import printable


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault or a remark about a model.

    Parameters
    ----------
    model
        Name of the model to change.
    text
        Description, with the value found and the value expected.
    place
        File and line, such as ``"model.py:12"``; empty for the whole model.
    is_fault
        Whether a request will fail.
    """

    model: str
    text: str
    place: str = ""
    is_fault: bool = True

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place else ""
        return printable(f"{self.model}{where}: {self.text}")
