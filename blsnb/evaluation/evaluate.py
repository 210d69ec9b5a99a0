"""Evaluates a model on a data set: rows to a runner, results to the evaluation."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from blsnb.arguments import (
    check_callable,
    check_names,
    check_path,
    check_type,
    check_whole,
    plain,
    refuse,
)
from blsnb.evaluation.identity import header_of
from blsnb.evaluation.journal import Journal
from blsnb.evaluation.plain import Chunk, EvaluationSettings, Row, RowRunner
from blsnb.evaluation.progress import Progress, Report, ShownProgress
from blsnb.evaluation.repetition import repeat_worst, why_never
from blsnb.evaluation.result.evaluation import Evaluation
from blsnb.evaluation.result.gathering import Gathering
from blsnb.evaluation.result.metrics import Metric, metric_functions
from blsnb.evaluation.rows.source import row_source
from blsnb.evaluation.work.chunks import Chunks
from blsnb.evaluation.work.places import HERE, Place, input_names
from blsnb.evaluation.work.portable import needed_models
from blsnb.evaluation.work.rows_in_server import RowsInServer
from blsnb.files.interrupts import without_interrupts
from blsnb.parts.requests import client_request
from blsnb.parts.server_parts import ServerParts
from blsnb.request_fields import RequestOptions

_TICK_S = 0.1
"""Seconds between two reports of progress."""
_now = time.monotonic
_INTERRUPTED = "Ctrl-C ended the evaluation before the row was executed once more"


@dataclass(frozen=True, slots=True)
class Demand:
    """The arguments of `blsnb.Server.evaluate` besides the rows.

    Parameters
    ----------
    settings
        The model, the options of each request, batches, kept runs.
    metrics
        The metrics by name.
    lower_is_better
        Names of metrics of which high values are the worst.
    sequence
        Key that holds the correlation id of a row; None for no sequences.
    place
        Where rows are executed.
    resume
        File of results from which the evaluation continues; None for none.
    """

    settings: EvaluationSettings
    metrics: Mapping[str, Metric] | None = None
    lower_is_better: Collection[str] = ()
    sequence: str | None = None
    place: Place = HERE
    resume: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        settings = self.settings
        given: RequestOptions = dict(settings.options)  # type: ignore[assignment]
        client_request(settings.model_name, {}, given, "evaluate")
        for name in ("correlation_id", "sequence_start", "sequence_end"):
            if name in given:
                raise ValueError(
                    f"evaluate() sets {name} itself, from the rows; name the key of "
                    "their sequences: sequence='KEY'"
                )
        if self.resume is not None:
            check_path(resume=self.resume)
        check_type("sequence", self.sequence, str | None, "a key of the rows")
        check_whole(keep=settings.keep)
        check_whole(1, batch=settings.batch)

    def check(self, parts: ServerParts) -> None:
        """Refuse a model that is not ready, before anything runs.

        Raises
        ------
        InferenceError
            The model is not ready; the text is Triton's.
        """
        if self.place.server_url is None:
            RowsInServer(parts, self.settings).close()
        else:
            self.place.open(parts, self.settings).close()

    def on(self, other: str | int) -> Demand:
        """Return the same for another model, version or server."""
        given = self.settings
        # Each of the two evaluations has a file of its own.
        file = None if self.resume is None else f"{os.fspath(self.resume)}.against"
        this = replace(self, resume=file)
        if isinstance(other, str) and "://" in other:
            return replace(this, place=Place(server_url=other))
        if isinstance(other, str):
            return replace(this, settings=replace(given, model_name=other))
        options = {**given.options, "version": other}
        return replace(this, settings=replace(given, options=options))

    @property
    def chunk_size(self) -> int | None:
        """Number of rows of a chunk; None to follow the durations of rows."""
        # On this thread a larger chunk would only delay results.
        return self.settings.batch if self.place.is_this_thread else None


def evaluate(
    parts: ServerParts,
    demand: Demand,
    rows: Any,
    *,
    progress: Report | None = None,
) -> Evaluation:
    """Evaluate a model on a data set; see `Server.evaluate`."""
    parts.lifetime.check_open()
    check_callable(progress=progress)
    check_names(lower_is_better=demand.lower_is_better)
    settings = demand.settings
    metrics = metric_functions(demand.metrics, frozenset(demand.lower_is_better or ()))
    wanted = settings.options.get("outputs")
    gathering = Gathering(
        settings.model_name,
        metrics,
        None if wanted is None else tuple(wanted),
        settings.keep,
    )
    shown = ShownProgress(settings.model_name)
    with contextlib.ExitStack() as opened:
        opened.callback(shown.end)
        runner = demand.place.open(parts, settings)
        opened.callback(runner.close)
        never = why_never(parts, demand.place, settings.model_name)
        name, names = settings.model_name, input_names(parts, settings, runner)
        source = row_source(rows, names, sequence=demand.sequence, model_name=name)
        loop = _Loop(gathering, source.total, progress or shown)
        journal, left = None, cast(Iterable[Row], source)
        if demand.resume is not None:
            header, folders = _header(parts, demand, source.digest()), _folders(parts)
            journal = opened.enter_context(Journal(demand.resume, header, folders))
            left = journal.to_execute(source, gathering.add_stored)
        loop.run(runner, Chunks(left, settings.batch, demand.chunk_size), journal)
        loop.repeat_worst(runner, never)
    return loop.evaluation()


def _folders(parts: ServerParts) -> dict[str, str]:
    found = map(parts.repository.directory, parts.repository.names())
    return {each.name: str(each.path) for each in found if each is not None}


def evaluate_against(
    parts: ServerParts,
    demand: Demand,
    rows: Any,
    against: str | int,
    *,
    progress: Report | None,
) -> Evaluation:
    """Evaluate a model, then an earlier one on the same rows; see `Server.evaluate`."""
    against = plain(against)
    if isinstance(against, bool) or not isinstance(against, str | int):
        refuse("against", against, "the name of a model, or a version")
    if isinstance(rows, Iterator):
        raise ValueError(
            "against= reads the rows twice, and an iterator can be read only once; "
            "pass a list, a table or a file"
        )
    other = demand.on(against)
    other.check(parts)
    this = evaluate(parts, demand, rows, progress=progress)
    if this.interrupted:
        return this
    return replace(this, earlier=evaluate(parts, other, rows, progress=progress))


def _header(parts: ServerParts, demand: Demand, digest: str) -> dict[str, Any]:
    """Return the identity of an evaluation; of a real server's models its address."""
    settings, url = demand.settings, demand.place.server_url
    models = needed_models(parts, settings.model_name) if url is None else []
    return header_of(parts, settings, models, digest) | {"server_url": url or ""}


class _Loop:
    """Feeds rows to a place, and its results to the gathering."""

    def __init__(self, gathering: Gathering, total: int | None, report: Report) -> None:
        self._gathering = gathering
        self._total = total
        self._report = report
        self._began_s = self._reported_s = _now()
        self._waiting: dict[int, Row] = {}
        """Rows without a result, by number: metrics need their labels."""
        self.interrupted = False
        self.elapsed_s = 0.0

    def run(self, runner: RowRunner, chunks: Chunks, journal: Journal | None) -> None:
        """Execute all rows; Ctrl-C ends the loop early."""
        found = runner.results(self._taken(chunks))
        try:
            for results in found if journal is None else journal.stored(found):
                chunks.note(results)
                for result in results:
                    self._gathering.add(self._waiting.pop(result.number), result)
                if _now() - self._reported_s >= _TICK_S:
                    self._tell()
        except KeyboardInterrupt:
            self._interrupt()
        finally:
            self.elapsed_s = _now() - self._began_s
            self._tell()

    def repeat_worst(self, runner: RowRunner, never: str) -> None:
        """Execute worst rows once more for their runs, unless Ctrl-C ended the loop."""
        try:
            if not self.interrupted:
                repeat_worst(runner, self._gathering, never)
        except KeyboardInterrupt:
            self._interrupt()
        if self.interrupted:
            for row in self._gathering.rows_to_repeat():
                self._gathering.give_up(row.number, _INTERRUPTED)

    def evaluation(self) -> Evaluation:
        """Return the evaluation of the rows so far."""
        ended = partial(self._gathering.evaluation, duration_s=self.elapsed_s)
        return without_interrupts(lambda: ended(interrupted=self.interrupted))

    def _interrupt(self) -> None:
        """End the loop; a further Ctrl-C must not discard its results."""
        self.interrupted = True
        without_interrupts(lambda: None, evaluate.__code__)

    def _taken(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            for row in chunk.rows:
                self._waiting[row.number] = row
            yield chunk

    def _tell(self) -> None:
        self._reported_s = _now()
        found, elapsed_s = self._gathering, self._reported_s - self._began_s
        self._report(
            Progress(found.done, found.failed, self._total, elapsed_s, found.stored)
        )
