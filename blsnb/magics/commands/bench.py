"""``%triton bench``: a model under load, with a bar while it runs and a table after."""

from __future__ import annotations

import argparse
import base64
import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.asked import Evaluate, asked
from blsnb.magics.flags import Flags, HelpAsked
from blsnb.magics.frontend import Bar

if TYPE_CHECKING:
    from blsnb.benchmark.bench import Bench

USAGE = (
    "NAME INPUT=EXPRESSION ... [--concurrency N,N] [--duration 5s] [--requests N] "
    "[--trace-level LEVEL]"
)
SUMMARY = "measure a model under load, with so many clients at once"
LEVELS = ("tensors", "timestamps", "off")
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "m": 60.0}
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(ms|s|m|)")


def bench_flags() -> Flags:
    """Return the parser of ``%triton bench``'s options."""
    flags = Flags("%triton bench NAME INPUT=EXPRESSION ...", f"{SUMMARY}.")
    add = flags.add_argument
    add(
        "--concurrency",
        type=_numbers,
        default=(1, 2, 4, 8),
        metavar="N,N",
        help="how many clients ask at once, level by level (1,2,4,8)",
    )
    add(
        "--duration",
        type=_seconds,
        default=5.0,
        metavar="TIME",
        help="how long each level lasts: 5s, 500ms, 2m (5s)",
    )
    add(
        "--requests",
        type=int,
        default=100_000,
        metavar="N",
        help="how many requests a level has at most (100000)",
    )
    add(
        "--trace-level",
        choices=LEVELS,
        help="how much is recorded of each request, as it costs time; the runs are "
        "not kept (as the server has it)",
    )
    return flags


def bench(
    text: str, namespace: dict[str, Any], evaluate: Evaluate, *, live: bool
) -> Bench | None:
    """Measure what the text says; None if it asks for help.

    Parameters
    ----------
    evaluate
        Returns the value of an input's expression.
    live
        Whether there is a page in which a bar can move.

    Raises
    ------
    UsageError
        The text is wrong.
    InferenceError
        The model does not serve.
    """
    try:
        given = asked(text, namespace, evaluate, bench_flags(), "%triton bench", USAGE)
    except HelpAsked:
        return None
    return _measure(*given, live)


def _measure(
    name: str, inputs: Mapping[str, Any], given: argparse.Namespace, live: bool
) -> Bench:
    bar = Bar(name) if live else None
    try:
        return default.server().bench(
            name,
            inputs,
            concurrency=given.concurrency,
            duration_s=given.duration,
            requests=given.requests,
            trace_level=given.trace_level,
            progress=bar,
        )
    except ValueError as error:
        raise UsageError(f"%triton bench: {error}") from error
    finally:
        if bar is not None:
            bar.end()


def bundle(measured: Bench) -> dict[str, str]:
    """Return what was measured as a table and a figure, and as text."""
    from blsnb.views.figures import load_figure

    rows = [row._asdict() for row in measured.rows]
    picture = base64.b64encode(load_figure.png(measured.caption, rows)).decode()
    failed = "".join(f"<pre>{escape(text)}</pre>" for text in measured.errors)
    page = (
        f"<p>{escape(measured.caption)}</p>{card.grid(*measured.table())['text/html']}"
        f'{failed}<img alt="{escape(repr(measured))}" style="max-width:100%" '
        f'src="data:image/png;base64,{picture}">'
    )
    return {"text/html": page, "text/plain": str(measured)}


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no list of numbers such as 1,2,4"
        ) from None


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 5s or 500ms")
    return float(found[1]) * _SECONDS[found[2]]
