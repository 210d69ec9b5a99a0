"""Rows of runs: their recorded inputs, and the recorded outputs as labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from blsnb.arguments import warn_user
from blsnb.errors import TraceError
from blsnb.evaluation.rows.records import Records
from blsnb.results.loaded_run import load_run
from blsnb.results.response import Response
from blsnb.results.run import ImportedRun, Run
from blsnb.trace.dropped import missing_values
from blsnb.trace.excerpt import client_requests
from blsnb.trace.spans import Span

LABELS = frozenset(("recorded", "recorded_error", "request_id", "correlation_id"))
"""Keys of a row of a run besides the inputs."""


def run_records(paths: Sequence[Path], model_name: str) -> Records:
    """Return the requests in files of `Run.save` and of the recorder.

    One file is in memory at a time.

    Parameters
    ----------
    paths
        The files.
    model_name
        Name of the model whose requests are rows; an empty string for all.

    Raises
    ------
    ValueError
        No file has a request of the model.
    """

    def read() -> Iterator[dict[str, Any]]:
        seen: dict[str, None] = {}
        requests = RecordedRequests()
        for path in paths:
            for run in _runs(path):
                seen[run.model_name] = None
                if model_name in ("", run.model_name):
                    yield from requests.record(run)
        if model_name not in seen and (model_name or not seen):
            listed = ", ".join(map(repr, seen)) or "no model"
            raise ValueError(
                f"the files have no run of the model {model_name!r}; they are of "
                f"{listed}"
            )
        requests.end()

    return Records(read, None, lambda: _digest(paths))


class RecordedRequests:
    """Requests of runs as rows; those that lack the value of an input are left out."""

    def __init__(self) -> None:
        self._count = 0
        self._lacking: list[TraceError] = []

    def record(self, run: Run) -> Iterator[dict[str, Any]]:
        """Yield the row of a run, unless the value of an input was not recorded."""
        self._count += 1
        try:
            row = run_record(run)
        except TraceError as error:
            self._lacking.append(error)
        else:
            yield row

    def end(self) -> None:
        """Warn of requests that were left out.

        Raises
        ------
        TraceError
            There is no other one.
        """
        lacking = self._lacking
        if lacking and len(lacking) == self._count:
            raise lacking[0]
        if lacking:
            warn_user(
                f"{len(lacking):,} of {self._count:,} recorded requests left out: "
                f"{lacking[0]}"
            )


def run_record(run: Run) -> dict[str, Any]:
    """Return the request of a run as a row.

    Its keys besides the inputs are ``recorded``, the recorded outputs by name (lists of
    arrays for a decoupled model), ``recorded_error``, ``request_id`` and
    ``correlation_id``.

    Raises
    ------
    TraceError
        The value of an input was not recorded, or is no longer kept.
    """
    trace = run.trace
    if not trace.roots:
        raise TraceError(f"run {run.id} has no recorded request")
    root = trace.spans[trace.roots[0]]
    lost = [f"input {ref.name!r}" for ref in root.inputs if ref.evicted]
    if lost or not root.has_tensors:
        raise TraceError(f"run {run.id}: {missing_values(trace, lost)}")
    return {
        "recorded": _outputs(run, root),
        "recorded_error": run.error or "",
        "request_id": root.request_id,
        "correlation_id": root.request_fields.correlation_id,
        **{ref.name: ref.view() for ref in root.inputs},
    }


def _outputs(run: Run, root: Span) -> dict[str, Any]:
    """Return the recorded outputs whose values are kept."""
    responses = [_kept(response) for response in run.responses]
    if not root.response_count:
        return responses[0] if responses else {}
    names = dict.fromkeys(name for each in responses for name in each)
    return {name: [each[name] for each in responses if name in each] for name in names}


def _kept(response: Response) -> dict[str, Any]:
    found = {}
    for name in response:
        try:
            found[name] = response[name]
        except TraceError:
            # A label that is missing fails the metrics that need it, not the row.
            continue
    return found


def _runs(path: Path) -> Iterator[Run]:
    """Yield the runs of a file in the order of their starts."""
    run = load_run(path)
    if len(run.trace.roots) == 1 and not run.trace.is_unattributed:
        yield run
        return
    known = [part for part in client_requests(run.trace) if not part.is_unattributed]
    for part in sorted(known, key=lambda each: each.start_ns):
        yield ImportedRun(part)


def _digest(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
