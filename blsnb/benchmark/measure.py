"""Measures a model under load, one level after the other."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

from blsnb.arguments import check_callable, check_type, check_whole, several
from blsnb.benchmark.arrivals import RECORDED, Arrivals, open_levels
from blsnb.benchmark.bench import Bench
from blsnb.benchmark.client import Client, Sender
from blsnb.benchmark.closed_loop import Tick, run_closed
from blsnb.benchmark.level import MAX_CLIENTS, Level, Load
from blsnb.benchmark.open_loop import run_open
from blsnb.benchmark.samples import NOTHING, Counts, LoadRow, open_row_of, row_of
from blsnb.engine.catalog import Catalog
from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.workers import Workers
from blsnb.garbage import present_objects_left_out
from blsnb.parts.model_reports import inference_error
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import ServerParts
from blsnb.printable import counted
from blsnb.trace.events import parse_level

Progress = Callable[[float, str], None]
"""Receives the completed share, from 0 to 1, and the current step as text."""
_REFUSED = "[INVALID_ARG]"
"""Beginning of the errors of requests that do not fit their model."""


class LevelPlan(NamedTuple):
    """One level, before it runs."""

    words: str
    run: Callable[[Tick], Level]
    row: Callable[[Level, Counts], LoadRow]
    rate: float = math.nan
    """Requests per second of an open loop."""


def bench(
    parts: ServerParts,
    request: ClientRequest,
    *,
    concurrency: int | Iterable[int],
    rate: float | Iterable[float] | None,
    arrivals: Any,
    seed: int,
    duration_s: float,
    requests: int,
    warm_up_requests: int,
    trace_level: str | None,
    progress: Progress | None,
) -> Bench:
    """Measure a model of a server under load; see `Server.bench`."""
    parts.lifetime.check_open()
    _check(concurrency, rate, trace_level)
    check_whole(warm_up_requests=warm_up_requests, seed=seed)
    check_callable(progress=progress)
    clients = levels_of(concurrency)
    load = Load(duration_s, requests)
    opened = open_levels(rate, arrivals, load, int(seed))
    recorder, catalog = parts.recorder, parts.engine.catalog
    level = recorder.level if trace_level is None else parse_level(trace_level)
    record = partial(recorder.unkept, level)
    name, version = request.model_name, request.fields.version
    counts = partial(_counts, catalog, name, version)
    try:
        decoupled = catalog.find(name, version).decoupled
        client = Client(parts.requests, request, record, decoupled)
        with client_threads() as workers:
            warm_up = _closed(client, load, workers, 1, warm_up_requests)
            warm_up = warm_up._replace(words="warm-up")
            if opened is None:
                plans = [
                    _closed(client, load, workers, each, requests) for each in clients
                ]
            else:
                plans = [_opened(client, workers, each) for each in opened]
            refused = partial(_raise_refusal, client)
            measured = measure(warm_up, plans, counts, progress, refused)
    except RequestError as error:
        raise inference_error(error) from None
    kind = "" if opened is None else arrivals if isinstance(arrivals, str) else RECORDED
    return Bench(name, level.name.lower(), decoupled, *measured, arrivals=kind)


def _raise_refusal(client: Client, warm_up: Level) -> None:
    """Raise the refusal of a request that no model would receive.

    Raises
    ------
    InferenceError
        The warm-up was refused, and a further request, too.
    """
    errors = [sample.error for sample in warm_up.samples]
    if errors and all(error.startswith(_REFUSED) for error in errors):
        client.ask()


def _check(concurrency: Any, rate: Any, trace_level: Any) -> None:
    expected = "a number of clients, or several"
    check_type("concurrency", concurrency, Real | Iterable, expected)
    expected = "a number of requests per second, or several"
    check_type("rate", rate, Real | Iterable | None, expected)
    check_type("trace_level", trace_level, str | None, f"a string, such as {'off'!r}")


@contextlib.contextmanager
def client_threads() -> Iterator[Workers]:
    """Give the threads of clients, and end those that are idle.

    The objects that are there are left out of garbage collections. One of all
    generations stops every thread while it visits all objects of the process, 50 ms for
    half a million. A kernel may have any number of them, but a real server's clients
    are elsewhere: their latencies would contain it.
    """
    workers = Workers(MAX_CLIENTS, "blsnb bench")
    with present_objects_left_out():
        try:
            yield workers
        finally:
            # A model that never returns keeps its thread, as after Ctrl-C.
            workers.shutdown(cancel_futures=True)


def _counts(catalog: Catalog, name: str, version: int) -> Counts:
    """Return the counters of a model; zeros if it does not serve."""
    try:
        row = catalog.statistics(name, version)[-1]
        return Counts.of(row, catalog.batching(name, version).sizes)
    except RequestError:
        return NOTHING


def levels_of(concurrency: int | Iterable[int]) -> tuple[int, ...]:
    """Return the levels as numbers of clients.

    Raises
    ------
    TypeError
        One is not a whole number.
    ValueError
        There is no level, or a number is out of range.
    """
    levels = several(concurrency)
    if not levels:
        raise ValueError("concurrency=[] is not valid; expected numbers of clients")
    for clients in levels:
        check_whole(1, MAX_CLIENTS, concurrency=clients)
    return tuple(map(int, levels))


def measure(
    warm_up: LevelPlan,
    plans: Sequence[LevelPlan],
    counts: Callable[[], Counts],
    progress: Progress | None,
    check: Callable[[Level], None],
) -> tuple[tuple[LoadRow, ...], bool, tuple[float, ...]]:
    """Run the levels. After a rate that is not held, higher ones are left out.

    Parameters
    ----------
    check
        Receives the warm-up, and may raise before anything is measured.

    Returns
    -------
    tuple
        The rows, whether Ctrl-C ended the last one, and the rates without a row.
    """
    report = progress or (lambda share, words: None)
    rows: list[LoadRow] = []
    left_out: list[float] = []
    warmed = warm_up.run(lambda _: report(0.0, warm_up.words))
    check(warmed)
    interrupted = warmed.interrupted
    too_high = math.inf
    for number, plan in enumerate(plans):
        if interrupted:
            break
        if plan.rate >= too_high:
            left_out.append(plan.rate)
            continue
        before = counts()
        level = plan.run(partial(_tick, report, number, len(plans), plan.words))
        interrupted = level.interrupted
        rows.append(plan.row(level, counts().since(before)))
        if not (interrupted or rows[-1].is_held):
            too_high = min(too_high, plan.rate)
    report(1.0, "interrupted" if interrupted else "done")
    return tuple(rows), interrupted, tuple(left_out)


def closed_row(sender: Sender, clients: int, load: Load) -> LoadRow:
    """Measure clients in a closed loop.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C ended the measurement.
    """
    with client_threads() as workers:
        return _row(_closed(sender, load, workers, clients, load.requests))


def open_row(sender: Sender, arrivals: Arrivals) -> LoadRow:
    """Measure requests at their times.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C ended the measurement.
    """
    with client_threads() as workers:
        return _row(_opened(sender, workers, arrivals))


def _row(plan: LevelPlan) -> LoadRow:
    level = plan.run(lambda share: None)
    if level.interrupted:
        raise KeyboardInterrupt
    return plan.row(level, NOTHING)


def _closed(
    client: Sender, load: Load, workers: Workers, clients: int, requests: int
) -> LevelPlan:
    def row(level: Level, since: Counts) -> LoadRow:
        return row_of(
            clients,
            level.samples,
            since,
            stream=client.stream,
            unfinished=level.unfinished,
        )

    run = partial(run_closed, client, load, workers, clients, requests)
    return LevelPlan(counted(clients, "client"), run, row)


def _opened(client: Sender, workers: Workers, arrivals: Arrivals) -> LevelPlan:
    def row(level: Level, since: Counts) -> LoadRow:
        return open_row_of(
            arrivals.rate,
            level.samples,
            since,
            level.sending,
            stream=client.stream,
            unfinished=level.unfinished,
        )

    run = partial(run_open, client, arrivals, workers)
    return LevelPlan(f"{arrivals.rate:g} requests/s", run, row, arrivals.rate)


def _tick(report: Progress, number: int, levels: int, words: str, share: float) -> None:
    """Report the completed share of one level as a share of all levels."""
    report((number + min(1.0, share)) / levels, words)
