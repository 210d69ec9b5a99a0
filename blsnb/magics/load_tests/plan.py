"""``%triton plan``: the cheapest configuration that holds a load."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from IPython.core.getipython import get_ipython
from IPython.display import display

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import SUMMARIES, usage_of
from blsnb.magics.flags import Flags
from blsnb.magics.frontend import call_interruptibly, has_page, progress_bar
from blsnb.magics.line import Line, request_line
from blsnb.magics.load_tests import bench, choices

if TYPE_CHECKING:
    from blsnb.planning.plans.check import Check
    from blsnb.planning.plans.outcome import ComparedConfigurations
    from blsnb.planning.plans.plan import Plan
    from blsnb.views.pictures.load_picture import DrawnLoad


def plan_flags() -> Flags:
    """Return the parser of ``%triton plan``'s options."""
    usage = "%triton plan NAME INPUT=EXPRESSION ..."
    flags = Flags(usage, f"{SUMMARIES['plan']}.")
    add = flags.add_argument
    add(
        "--rate",
        type=choices.rates,
        required=True,
        metavar="RATES",
        help="requests per second: 100, or several that a configuration must hold, as "
        "50,100 or 50:400 or 50:400:50",
    )
    add(
        "--p99",
        type=choices.limit_s,
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
    _add_requests(add)
    _add_world(add)
    return flags


def _add_requests(add: Callable[..., object]) -> None:
    add(
        "--sequence",
        type=choices.counts,
        default=(),
        metavar="N,N",
        help="numbers of requests of sequences, equally frequent",
    )
    add(
        "--priorities",
        type=choices.shares,
        metavar="P=SHARE,P=SHARE",
        help="shares of requests by priority: 1=20%%,2=80%%",
    )
    add(
        "--timeout",
        type=choices.seconds,
        default=0.0,
        metavar="TIME",
        help="time that a request may wait in a queue: 50ms",
    )


def _add_world(add: Callable[..., object]) -> None:
    add(
        "--target",
        choices=("here", "triton"),
        default="here",
        help="where the models are observed: in this kernel, or on a real Triton "
        "server that is started and stopped (here)",
    )
    add(
        "--server-url",
        metavar="URL",
        help="a running Triton server that has the models, as grpc://localhost:8001: "
        "it gets loads, and its statistics are read",
    )
    add(
        "--check",
        action="store_true",
        help="measure the best configuration under the load, beside its prediction",
    )


def _add_choices(flags: Flags) -> None:
    for name, kind, values, words in (
        ("--instances", choices.numbers, "1..4", "numbers of instances to compare"),
        ("--delay", choices.delays, "0,500us,2ms", "queue delays to compare"),
        ("--batch", choices.numbers, "1,4,8", "maximum batch sizes to compare"),
    ):
        flags.add_argument(
            name,
            type=kind,
            action="append",
            default=[],
            metavar=f"MODEL={values}",
            help=f"{words}; may be repeated",
        )


def plan(line: Line) -> Plan | Check:
    """Plan the models of a request; with --check, measure the best configuration."""
    request = request_line(line, plan_flags(), usage_of("plan"))
    given = request.options
    with progress_bar(line, request.name, "plan") as bar:
        planned = default.server().plan(
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
            target=given.target,
            server_url=given.server_url,
        )
        if not given.check:
            return planned
        display(planned)
        return planned.check()


def check_bundle(check: Check) -> dict[str, str]:
    """Return a check as a page: table, figure with the prediction; and as text."""
    table = card.grid(*check.table())["text/html"]
    measured = [row._asdict() for each in check.checked for row in each.rows]
    figure = bench.figure(repr(check), _load(check.plan)._replace(measured=measured))
    remarks = "".join(f"<p>{escape(text)}</p>" for text in check.remarks)
    failed = bench.failures(check.errors)
    page = f"<p>{escape(check.caption)}</p>{table}{remarks}{failed}{figure}"
    return {"text/html": page, "text/plain": str(check)}


def bundle(planned: Plan) -> dict[str, str]:
    """Return a plan as a page and as text.

    The page has a table, findings, a figure and a difference, and in a notebook that
    is open a button to apply it.
    """
    findings = "".join(f"<li>{escape(text)}</li>" for text in planned.findings)
    diff = planned.diff()
    page = (
        f"<p>{escape(planned.caption)}</p>{card.grid(*planned.table())['text/html']}"
        f"<ul>{findings}</ul>{bench.figure(repr(planned), _load(planned))}"
        + (f"<pre>{escape(diff)}</pre>" if diff else "")
        + _button(planned)
    )
    return {"text/html": page, "text/plain": str(planned)}


def _button(planned: Plan) -> str:
    """Return the button as HTML; empty without a page that has a kernel."""
    if not has_page(get_ipython()):
        return ""
    # Deferred: loading the extension must not import the widget library.
    from blsnb.views.live.apply_button import ApplyButton

    return ApplyButton(planned, call_interruptibly).document()


def _load(planned: ComparedConfigurations) -> DrawnLoad:
    """Return the best configuration at several rates, to be drawn."""
    from blsnb.views.pictures.load_picture import DrawnLoad

    return DrawnLoad(
        planned.rows,
        rate=planned.rate,
        limit_us=planned.p99_us,
        error=planned.calibration.error,
    )
