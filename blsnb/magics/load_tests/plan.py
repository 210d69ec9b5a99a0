"""``%triton plan``: the cheapest configuration that holds a load."""

from __future__ import annotations

import argparse
import re
from html import escape
from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.flags import Flags
from blsnb.magics.frontend import ProgressBar
from blsnb.magics.line import Line, request_line
from blsnb.magics.load_tests import bench

if TYPE_CHECKING:
    from blsnb.planning.plan import Plan

USAGE = (
    "NAME INPUT=EXPRESSION ... --rate R --p99 50ms [--instances MODEL=1..4] "
    "[--delay MODEL=0,500us,2ms] [--batch MODEL=1,4,8] [--cores N] "
    "[--sequence N] [--priorities 1=20%,2=80%] [--timeout TIME]"
)
SUMMARY = "find the fewest instances that hold a load, by simulation"
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_MAX_RANGE = 100
_DELAY = re.compile(r"(\d+\.?\d*|\.\d+)(us|µs|ms|s|)")
_SHARE = re.compile(r"(\d+)=(\d+\.?\d*|\.\d+)(%?)")
_UNITS = {"": 1.0, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}


def plan_flags() -> Flags:
    """Return the parser of ``%triton plan``'s options."""
    flags = Flags("%triton plan NAME INPUT=EXPRESSION ...", f"{SUMMARY}.")
    add = flags.add_argument
    add("--rate", type=float, required=True, metavar="R", help="requests per second")
    add(
        "--p99",
        type=bench.seconds,
        required=True,
        metavar="TIME",
        help="limit of the 99th percentile of the latency: 50ms, 1s",
    )
    _add_choices(flags)
    add(
        "--cores",
        type=float,
        metavar="N",
        help="number of processors (as many as this kernel was observed to use)",
    )
    add("--seed", type=int, default=0, metavar="N", help="of the random requests (0)")
    _add_requests(flags)
    return flags


def _add_requests(flags: Flags) -> None:
    add = flags.add_argument
    add(
        "--sequence",
        type=_lengths,
        default=(),
        metavar="N,N",
        help="numbers of requests of sequences, equally frequent",
    )
    add(
        "--priorities",
        type=_shares,
        metavar="P=SHARE,P=SHARE",
        help="shares of requests by priority: 1=20%%,2=80%%",
    )
    add(
        "--timeout",
        type=bench.seconds,
        default=0.0,
        metavar="TIME",
        help="time that a request may wait in a queue: 50ms",
    )


def _lengths(text: str) -> list[int]:
    try:
        return [int(length) for length in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of numbers of requests, such as 4,8"
        ) from None


def _shares(text: str) -> dict[int, float]:
    found = [_SHARE.fullmatch(each) for each in text.split(",")]
    if None in found:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of priorities with shares, such as 1=20%,2=80%"
        )
    return {
        int(each[1]): float(each[2]) * (0.01 if each[3] else 1.0)
        for each in found
        if each
    }


def _add_choices(flags: Flags) -> None:
    for name, kind, values, words in (
        ("--instances", _numbers, "1..4", "numbers of instances to compare"),
        ("--delay", _delays, "0,500us,2ms", "queue delays to compare"),
        ("--batch", _numbers, "1,4,8", "maximum batch sizes to compare"),
    ):
        flags.add_argument(
            name,
            type=kind,
            action="append",
            default=[],
            metavar=f"MODEL={values}",
            help=f"{words}; may be repeated",
        )


def plan(line: Line) -> Plan:
    """Plan the models of a request."""
    request = request_line(line, plan_flags(), "%triton plan", USAGE)
    given = request.options
    bar = ProgressBar(request.name) if line.live else None
    try:
        return default.server().plan(
            request.name,
            request.inputs,
            rate=given.rate,
            p99_ms=given.p99 * 1e3,
            instances=dict(given.instances),
            delay_us=dict(given.delay),
            batch=dict(given.batch),
            cores=given.cores,
            seed=given.seed,
            priorities=given.priorities,
            sequence_lengths=given.sequence,
            timeout_us=round(given.timeout * 1e6),
            progress=bar,
        )
    except ValueError as error:
        raise UsageError(f"%triton plan: {error}") from error
    finally:
        if bar is not None:
            bar.end()


def bundle(planned: Plan) -> dict[str, str]:
    """Return a plan as a page: table, findings, figure and difference; and as text."""
    findings = "".join(f"<li>{escape(text)}</li>" for text in planned.findings)
    diff = planned.diff()
    page = (
        f"<p>{escape(planned.caption)}</p>{card.grid(*planned.table())['text/html']}"
        f"<ul>{findings}</ul>{bench.figure(repr(planned), planned.rows)}"
        + (f"<pre>{escape(diff)}</pre>" if diff else "")
    )
    return {"text/html": page, "text/plain": str(planned)}


def _numbers(text: str) -> tuple[str, list[int]]:
    model, _, values = text.partition("=")
    found = _RANGE.fullmatch(values)
    try:
        if found is None:
            return model, [int(value) for value in values.split(",")]
        first, last = int(found[1]), int(found[2])
        if first <= last < first + _MAX_RANGE:
            return model, list(range(first, last + 1))
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a model with numbers, such as a=1..4 or a=1,4,8"
    )


def _delays(text: str) -> tuple[str, list[int]]:
    model, _, values = text.partition("=")
    found = [_DELAY.fullmatch(value) for value in values.split(",")]
    if not model or None in found:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a model with times, such as a=0,500us,2ms"
        )
    return model, [round(float(each[1]) * _UNITS[each[2]]) for each in found if each]
