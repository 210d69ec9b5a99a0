"""The panel as an extension of the test server, whose environment need not have it."""

from __future__ import annotations

from pathlib import Path

import blsnb.panel

SOURCE = Path(blsnb.panel.__file__).parent / "labextension"


def install(data: Path) -> None:
    """Link the checkout's panel into a Jupyter data folder."""
    place = data / "labextensions" / "blsnb"
    place.parent.mkdir(parents=True)
    place.symlink_to(SOURCE)
