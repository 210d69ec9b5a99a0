"""An export in which each model is what serves, not what its folder holds."""

from __future__ import annotations

import shutil
from pathlib import Path

from blsnb.repository.directory import CONFIG_FILE, ModelDirectory


def put_as_served(served: ModelDirectory, folder: Path) -> None:
    """Write the model that was given with a load in the place of an exported one.

    Parameters
    ----------
    folder
        The model's, in the export.

    Raises
    ------
    OSError
        A file cannot be read or written.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        served.path, folder, ignore=shutil.ignore_patterns("__pycache__", "configs")
    )
    config = served.config().to_pbtxt()
    (folder / CONFIG_FILE).write_text(config, encoding="utf-8")
