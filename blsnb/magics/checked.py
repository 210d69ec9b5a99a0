"""Probable faults in the source of a cell's model, with line numbers of the cell."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from blsnb.magics.cell_book import CellText
from blsnb.parts.server_parts import HasParts, parts_of

if TYPE_CHECKING:
    from blsnb.model_graph.graph import Finding

_MAX_FINDINGS = 8
_log = logging.getLogger(__name__)


def findings(server: HasParts, name: str, main: str, cell: CellText) -> Iterator[str]:
    """Yield findings in the sources of a model that has just been defined.

    Parameters
    ----------
    main
        Path of the file that the cell wrote, such as ``"1/model.py"``.
    cell
        The cell.
    """
    # Deferred: loading the extension must not import the checks.
    from blsnb.model_graph.source_checks import check_model

    try:
        found = check_model(parts_of(server), name)
    except Exception:
        # A failed check must not prevent the model from serving.
        _log.exception("the source of %s could not be checked", name)
        return
    for finding in found[:_MAX_FINDINGS]:
        yield _words(finding, PurePosixPath(*PurePosixPath(main).parts[1:]), cell)
    if len(found) > _MAX_FINDINGS:
        yield f"and {len(found) - _MAX_FINDINGS:,} more findings"


def _words(finding: Finding, written: PurePosixPath, cell: CellText) -> str:
    path, _, line = finding.place.rpartition(":")
    if path == str(written):
        return f"{cell.label(path, int(line))}: {finding.text}"
    return f"{finding.place}: {finding.text}"
