"""Measures a model under load, one level after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from numbers import Real

from blsnb.arguments import check_callable, check_type, check_whole
from blsnb.benchmark.bench import Bench
from blsnb.benchmark.closed_loop import MAX_CLIENTS, ClosedLoop, Load
from blsnb.benchmark.samples import NOTHING, Counts, Row, row_of
from blsnb.engine.catalog import Catalog
from blsnb.engine.request.validation import RequestError
from blsnb.parts.models import inference_error
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import ServerParts
from blsnb.trace.events import parse_level
from blsnb.views.format import counted

Progress = Callable[[float, str], None]
"""Receives the completed share, from 0 to 1, and the current step as text."""


def bench(
    parts: ServerParts,
    request: ClientRequest,
    *,
    concurrency: Iterable[int],
    duration_s: float,
    requests: int,
    warm_up_requests: int,
    trace_level: str | None,
    progress: Progress | None,
) -> Bench:
    """Measure a model of a server under load; see `Server.bench`."""
    parts.lifetime.check_open()
    check_type("concurrency", concurrency, Iterable, "a list of numbers")
    check_type("duration_s", duration_s, Real, "a number of seconds")
    check_type("requests", requests, Real, "a number")
    check_whole(warm_up_requests=warm_up_requests)
    check_type("trace_level", trace_level, str | None, f"a string, such as {'off'!r}")
    check_callable(progress=progress)
    levels = levels_of(concurrency)
    load = Load(request, duration_s, requests)
    recorder, catalog = parts.recorder, parts.engine.catalog
    level = recorder.level if trace_level is None else parse_level(trace_level)
    record = partial(recorder.unkept, level)
    name, version = request.model_name, request.fields.version
    counts = partial(_counts, catalog, name, version)
    try:
        decoupled = catalog.find(name, version).decoupled
        with ClosedLoop(parts.requests, load, record, decoupled) as loop:
            measured = measure(loop, levels, counts, warm_up_requests, progress)
    except RequestError as error:
        raise inference_error(error) from None
    return Bench(name, level.name.lower(), decoupled, *measured)


def _counts(catalog: Catalog, name: str, version: int) -> Counts:
    """Return the counters of a model; zeros if it does not serve."""
    try:
        row = catalog.statistics(name, version)[-1]
        return Counts.of(row, catalog.batching(name, version).sizes)
    except RequestError:
        return NOTHING


def levels_of(concurrency: Iterable[int]) -> tuple[int, ...]:
    """Return the levels as numbers of clients.

    Raises
    ------
    ValueError
        There is no level, or a number is out of range.
    """
    levels = tuple(concurrency)
    for clients in levels or (0,):
        if not isinstance(clients, int) or not 1 <= clients <= MAX_CLIENTS:
            raise ValueError(
                f"concurrency={clients if levels else levels!r} is not valid; "
                f"expected numbers of clients from 1 to {MAX_CLIENTS}"
            )
    return levels


def measure(
    loop: ClosedLoop,
    levels: tuple[int, ...],
    counts: Callable[[], Counts],
    warm_up_requests: int,
    progress: Progress | None = None,
) -> tuple[tuple[Row, ...], bool]:
    """Run the levels; return a row for each, and whether Ctrl-C ended them."""
    report = progress or _ignore
    rows: list[Row] = []
    warm_up = partial(_tick, lambda _, words: report(0.0, words), 0, 1, "warm-up")
    interrupted = loop.run(1, warm_up, warm_up_requests).interrupted
    for number, clients in enumerate(levels):
        if interrupted:
            break
        before = counts()
        tick = partial(_tick, report, number, len(levels), counted(clients, "client"))
        level = loop.run(clients, tick)
        interrupted = level.interrupted
        since = counts().since(before)
        row = row_of(
            clients,
            level.samples,
            since,
            stream=loop.stream,
            unfinished=level.unfinished,
        )
        rows.append(row)
    report(1.0, "interrupted" if interrupted else "done")
    return tuple(rows), interrupted


def _tick(report: Progress, number: int, levels: int, words: str, share: float) -> None:
    """Report the completed share of one level as a share of all levels."""
    report((number + min(1.0, share)) / levels, words)


def _ignore(share: float, words: str) -> None:
    """Report nothing."""
