"""``%triton evaluate``: a model on a data set."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython

from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import SUMMARIES, usage_of
from blsnb.magics.flags import Flags
from blsnb.magics.frontend import bundle, has_page, note_run
from blsnb.magics.line import Line, evaluated, expand, first_word, parsed_options

if TYPE_CHECKING:
    from blsnb.evaluation.result.comparison import EvaluationComparison
    from blsnb.evaluation.result.evaluation import Evaluation
    from blsnb.results.run import Run
    from blsnb.views.evaluations.page import EvaluationPage


def evaluate_flags() -> Flags:
    """Return the parser of ``%triton evaluate``'s options."""
    usage = "%triton evaluate NAME ROWS ..."
    flags = Flags(usage, f"{SUMMARIES['evaluate']}.")
    add = flags.add_argument
    add(
        "--metrics",
        type=_names,
        default=(),
        metavar="NAME,NAME",
        help="functions of the notebook that receive a row and its outputs",
    )
    add(
        "--lower-is-better",
        type=_names,
        default=(),
        metavar="NAME,NAME",
        help="metrics whose high values are the worst ones",
    )
    add(
        "--outputs",
        type=_names,
        metavar="NAMES",
        help="requested outputs, which are kept (those of at most 1 KiB)",
    )
    add(
        "--against",
        type=lambda text: int(text) if text.isdecimal() else text,
        metavar="MODEL",
        help="another model, or a version of the model, to compare with",
    )
    add("--sequence", metavar="KEY", help="key of the correlation ids of sequences")
    add("--batch", type=int, default=1, metavar="N", help="rows of a request (1)")
    add(
        "--keep",
        type=int,
        default=20,
        metavar="N",
        help="whole runs kept of failures, slowest and worst rows (20)",
    )
    add(
        "--workers",
        type=int,
        metavar="N",
        help="processes that execute rows; with --server-url requests in flight",
    )
    add(
        "--server-url",
        metavar="URL",
        help="a server that has the model and executes rows, as grpc://localhost:8001",
    )
    add(
        "--resume",
        metavar="FILE",
        help="store each result in a file, and continue from it when it exists",
    )
    return flags


def evaluate(line: Line) -> Evaluation:
    """Evaluate the model named in a line."""
    given, rest = parsed_options(line, evaluate_flags())
    name, expression = first_word(rest)
    if not expression:
        raise UsageError(f"usage: {usage_of('evaluate')}")
    try:
        return default.server().evaluate(
            expand(name, line.namespace),
            evaluated("ROWS", expression, line.namespace),
            metrics={each: _function(each, line) for each in given.metrics},
            lower_is_better=given.lower_is_better,
            outputs=given.outputs,
            sequence=given.sequence,
            against=given.against,
            batch=given.batch,
            keep=given.keep,
            workers=given.workers,
            server_url=given.server_url,
            resume=given.resume,
        )
    except ValueError as error:
        raise UsageError(f"%triton evaluate: {error}") from error


def _function(name: str, line: Line) -> Any:
    found = line.namespace.get(name)
    if not callable(found):
        raise UsageError(
            f"%triton evaluate: --metrics {name}: the notebook has no function of "
            "this name; expected f(row, outputs) -> float"
        )
    return found


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def evaluation_bundle(evaluation: Evaluation) -> dict[str, Any]:
    """Return the display of an evaluation."""
    from blsnb.evaluation.result.page import page_of

    if evaluation.comparison is not None:
        return comparison_bundle(evaluation.comparison)
    return _page_bundle(page_of(evaluation), evaluation.run)


def comparison_bundle(comparison: EvaluationComparison) -> dict[str, Any]:
    """Return the display of a comparison of two evaluations."""
    from blsnb.evaluation.result.comparison_page import comparison_page

    return _page_bundle(comparison_page(comparison), comparison.this.run)


def _page_bundle(page: EvaluationPage, run_of: Callable[[int], Run]) -> dict[str, Any]:
    """Return a page whose rows open the views of their runs; elsewhere tables."""
    if not (page.lists and has_page(get_ipython())):
        from blsnb.views.evaluations.page import html, text

        return {"text/html": html(page), "text/plain": text(page)}
    from blsnb.views.live.evaluation_view import EvaluationView

    def open_run(row: int) -> dict[str, Any]:
        run = run_of(row)
        note_run(run, in_page=True)
        return bundle(run.trace)

    return EvaluationView(page, open_run).placed()
