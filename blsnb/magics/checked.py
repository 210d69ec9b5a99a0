"""Probable faults in the source of a cell's model, with line numbers of the cell."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from blsnb.magics.cell_book import CellBook, CellText
from blsnb.parts.server_parts import HasParts, parts_of
from blsnb.printable import counted
from blsnb.repository.directory import CONFIG_FILE

_MAX_FINDINGS = 8
_log = logging.getLogger(__name__)


def findings(server: HasParts, name: str, cells: CellBook) -> Iterator[str]:
    """Yield findings in the sources of a model that has just been defined."""
    # Deferred: loading the extension must not import the checks.
    from blsnb.model_graph.source_checks import check_model, source_folder

    folder = source_folder(parts_of(server), name)
    try:
        found = check_model(parts_of(server), name)
    except Exception:
        # A failed check must not prevent the model from serving.
        _log.exception("the source of %s could not be checked", name)
        return
    for finding in found[:_MAX_FINDINGS]:
        yield f"{_place(finding.place, folder, cells)}: {finding.text}"
    if len(found) > _MAX_FINDINGS:
        yield f"and {counted(len(found) - _MAX_FINDINGS, 'more finding')}"


def _place(place: str, folder: Path | None, cells: CellBook) -> str:
    """Return a place such as ``model.py:3``, with its cell if it has one."""
    path, _, line = place.rpartition(":")
    cell = None if folder is None else cells.find(str(folder / path))
    return place if cell is None else cell.label(path, int(line))


def config_findings(
    server: HasParts, reported: Sequence[str], cell: CellText
) -> list[str]:
    """Return the findings in a model's configuration, with the lines of its cell.

    Parameters
    ----------
    reported
        The findings of the model; none if it is not loaded.
    cell
        The cell of its configuration, which is valid.
    """
    lines = lint_lines(cell.text, parts_of(server).engine.placements.gpu_count)
    return [
        *(f"{cell.label(CONFIG_FILE, line)}: {text}" for text, line in lines.items()),
        *(text for text in reported if text not in lines),
    ]


def lint_lines(text: str, gpu_count: int) -> dict[str, int]:
    """Return the lint findings in a valid configuration, with their lines."""
    # Deferred: loading the extension must not import the schema.
    from blsnb.model.config import parse_pbtxt
    from blsnb.model.rules.lint import lint
    from blsnb.model.text.text_fields import field_lines

    found = lint(parse_pbtxt(text), gpu_count=gpu_count)
    lines = field_lines(text) if found else {}
    return {each.text: lines[each.field] for each in found if each.field in lines}
