"""``blsnb panel``: the panel of JupyterLab and Notebook 7, for editable installs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from blsnb import panel
from blsnb.command.arguments import CommandError, shows_help

_HELP = """\
usage: blsnb panel [--remove]

Link the panel of JupyterLab and Notebook 7 into this environment. An install from a
wheel has it already; an editable install does not. Reload open pages afterwards.

  --remove  remove the link
"""
_SOURCE = Path(panel.__file__).parent / "labextension"


def run(words: Sequence[str]) -> int:
    """Link the panel, or remove the link."""
    if shows_help(words, _HELP):
        return 0
    place = Path(sys.prefix, "share", "jupyter", "labextensions", "blsnb")
    if list(words) == ["--remove"]:
        print(_removed(place))
    elif words:
        raise CommandError(f"{' '.join(words)!r} is not valid; expected --remove")
    else:
        print(_linked(place))
    return 0


def _linked(place: Path) -> str:
    if place.is_dir() and not place.is_symlink():
        return f"The panel is installed in {place}, as the wheel installs it."
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(_SOURCE)
    return f"The panel is linked into {place}; reload open pages."


def _removed(place: Path) -> str:
    if place.is_symlink():
        place.unlink()
        return f"The link {place} is removed; reload open pages."
    if place.is_dir():
        return (
            f"{place} belongs to the installed wheel: pip uninstall blsnb removes it."
        )
    return f"There is no panel in {place}."
