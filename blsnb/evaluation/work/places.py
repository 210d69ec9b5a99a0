"""The places where rows are executed, as the arguments of an evaluation name them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from blsnb.arguments import check_whole
from blsnb.evaluation.plain import EvaluationSettings, RowRunner
from blsnb.evaluation.work.rows_in_server import InServer, RowsInServer
from blsnb.files.owned import OwnedFolder, sweep
from blsnb.parts.server_parts import ServerParts

_FOLDER = "blsnb-evaluation-"


def open_place(
    parts: ServerParts,
    settings: EvaluationSettings,
    *,
    workers: int | None = None,
) -> RowRunner:
    """Return the place where rows are executed; its user closes it.

    Parameters
    ----------
    workers
        Number of worker processes; None to execute rows on this thread.

    Raises
    ------
    BlsnbError
        A model exists in this process only, so that no other can execute it.
    InferenceError
        The model is not ready.
    TypeError, ValueError
        An argument is invalid.
    """
    check_place(workers)
    if workers is None:
        return InServer(parts, settings)
    return _processes(parts, settings, workers)


def check_place(workers: int | None) -> None:
    """Refuse invalid arguments.

    Raises
    ------
    TypeError, ValueError
        An argument has the wrong type or is out of range.
    """
    if workers is None:
        return
    check_whole(workers=workers)
    if workers < 1:
        raise ValueError(f"workers={workers} is not valid; expected 1 or more, or None")


def _processes(
    parts: ServerParts, settings: EvaluationSettings, count: int
) -> RowRunner:
    from blsnb.evaluation.work.portable import copy_server
    from blsnb.evaluation.work.processes import RowsInProcesses
    from blsnb.evaluation.work.server_copy import Opening

    # Raises what the first row would raise in this process.
    RowsInServer(parts, settings)
    folder = _owned_folder()
    try:
        # The owned folder itself is locked, as an export locks its target.
        models = folder.path / "models"
        copy = copy_server(parts, settings.model_name, models)
    except BaseException:
        folder.close()
        raise
    return RowsInProcesses(Opening(copy, models, settings), count, folder.close)


def _owned_folder() -> OwnedFolder:
    place = Path(tempfile.gettempdir()).resolve()
    sweep(place, _FOLDER)
    folder = OwnedFolder(place, _FOLDER)
    folder.create()
    return folder
