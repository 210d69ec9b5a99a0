"""``%triton bench``: a model under load, with a progress bar and a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import SUMMARIES, usage_of
from blsnb.magics.flags import Flags
from blsnb.magics.frontend import progress_bar
from blsnb.magics.line import Line, request_line
from blsnb.magics.load_tests import choices
from blsnb.trace.events import LEVELS

if TYPE_CHECKING:
    from blsnb.benchmark.bench import Bench
    from blsnb.views.pictures.load_picture import DrawnLoad


def bench_flags() -> Flags:
    """Return the parser of ``%triton bench``'s options."""
    usage = "%triton bench NAME INPUT=EXPRESSION ..."
    flags = Flags(usage, f"{SUMMARIES['bench']}.")
    _add_levels(flags.add_mutually_exclusive_group().add_argument)
    add = flags.add_argument
    _add_arrivals(add)
    add(
        "--duration",
        type=choices.duration_s,
        default=5.0,
        metavar="TIME",
        help="how long each level lasts: 5s, 500ms, 2m (5s)",
    )
    add(
        "--requests",
        type=int,
        default=100_000,
        metavar="N",
        help="maximum number of requests of a level (100000)",
    )
    add(
        "--trace-level",
        choices=LEVELS,
        help="how much is recorded of each request, as it costs time; the runs are "
        "not kept (as the server has it)",
    )
    return flags


def _add_levels(add: Callable[..., object]) -> None:
    add(
        "--concurrency",
        type=choices.counts,
        default=(1, 2, 4, 8),
        metavar="N,N",
        help="number of concurrent clients, level by level (1,2,4,8)",
    )
    add(
        "--rate",
        type=choices.rates,
        metavar="RATES",
        help="requests per second, level by level, whether or not earlier ones were "
        "answered: 50,100 or 50:400 or 50:400:50 (instead of clients)",
    )


def _add_arrivals(add: Callable[..., object]) -> None:
    from blsnb.benchmark.arrivals import CONSTANT, POISSON

    add(
        "--arrivals",
        choices=(POISSON, CONSTANT),
        default=POISSON,
        help="times of the requests of --rate: random as of many clients, or even "
        "(poisson)",
    )


def bench(line: Line) -> Bench:
    """Measure the model named in a line."""
    request = request_line(line, bench_flags(), usage_of("bench"))
    given = request.options
    with progress_bar(line, request.name, "bench") as bar:
        return default.server().bench(
            request.name,
            request.inputs,
            concurrency=given.concurrency,
            rate=given.rate,
            arrivals=given.arrivals,
            duration_s=given.duration,
            requests=given.requests,
            trace_level=given.trace_level,
            progress=bar,
        )


def bundle(measured: Bench) -> dict[str, str]:
    """Return a measurement as a table with a figure, and as text."""
    from blsnb.views.pictures.load_picture import DrawnLoad

    rows = [row._asdict() for row in measured.rows]
    page = (
        f"<p>{escape(measured.caption)}</p>{card.grid(*measured.table())['text/html']}"
        f"{failures(measured.errors)}{figure(repr(measured), DrawnLoad(rows))}"
    )
    return {"text/html": page, "text/plain": str(measured)}


def failures(texts: Sequence[str]) -> str:
    """Return error texts as HTML."""
    return "".join(f"<pre>{escape(text)}</pre>" for text in texts)


def figure(words: str, load: DrawnLoad) -> str:
    """Return the picture of a load as HTML; empty if Ctrl-C ends the drawing."""
    from blsnb.views.pictures import load_picture

    try:
        return load_picture.draw(load, words)
    except KeyboardInterrupt:
        return ""
