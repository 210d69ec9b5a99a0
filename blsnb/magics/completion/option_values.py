"""Values of the options of magics: enumerations, models and paths."""

from __future__ import annotations

from collections.abc import Iterable

from blsnb.magics.completion.choices import TARGETS
from blsnb.magics.completion.known_models import model_names
from blsnb.magics.completion.path_completion import paths
from blsnb.magics.flags import Flags

_FILES = ("FILE", "PATH[:DEST]", "NAME_OR_PATH")
_FOLDER = "FOLDER"


def option_values(
    parser: Flags, before: list[str], fragment: str
) -> Iterable[str] | None:
    """Return the candidates for the value of an option.

    Parameters
    ----------
    before
        The words before the fragment, without the magic.

    Returns
    -------
    Iterable or None
        None if the fragment is not a value.
    """
    if before[-2:-1] == ["--as"]:
        return model_names()
    last = before[-1] if before else ""
    values = parser.values_of(last)
    if values is None:
        return None
    if last == "--target":
        return TARGETS
    if values.metavar in _FILES:
        return paths(fragment)
    if values.metavar == _FOLDER:
        return paths(fragment, folders_only=True)
    if last == "--as":
        return ("ensemble",)
    is_option = values.may_be_left_out and fragment.startswith("-")
    return None if is_option else values.choices
