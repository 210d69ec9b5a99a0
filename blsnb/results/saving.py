"""Files of runs and comparisons: pages to look at, and runs to read again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.arguments import warn_user
from blsnb.trace.capture import clock_of

if TYPE_CHECKING:
    from blsnb.results.response import Response
    from blsnb.trace.comparison import AnyTrace
    from blsnb.trace.spans import Trace


def save_page(path: Path, shown: AnyTrace) -> None:
    """Write a run or a comparison as a web page, completely or not at all."""
    # Deferred: a saved run needs no view.
    from blsnb.files.whole import output_file
    from blsnb.views.documents import document

    with output_file(path) as partial:
        partial.write_text(document.page(shown), encoding="utf-8")


def save_run(
    path: Path,
    title: str,
    trace: Trace,
    responses: Iterable[Response],
    error: str | None,
    budget_bytes: int | None,
) -> None:
    """Write a run for `load_run`; warn of the values that are left out.

    Parameters
    ----------
    title
        Title of a trace without a recorded call.
    budget_bytes
        Maximum number of bytes of tensor values; None for the default.
    """
    from blsnb.trace.files import run_file

    saved = tuple(response.saved() for response in responses)
    clock = clock_of(trace)
    left_out = run_file.save_run(trace, saved, error, path, budget_bytes, title, clock)
    if left_out:
        warn_user(f"{path.name}: {left_out}")
