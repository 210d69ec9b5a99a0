"""Rich displays of blsnb's types."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from IPython.core.getipython import get_ipython
from IPython.display import display

from blsnb.magics.frontend import (
    bundle,
    call_interruptibly,
    has_page,
    needs_displayed_widgets,
    note_run,
)
from blsnb.options import options

if TYPE_CHECKING:
    from blsnb.form.form import Form
    from blsnb.magics.runs.show import RunDisplay
    from blsnb.parity.parity import Parity
    from blsnb.results.comparison import Comparison
    from blsnb.results.run import Run
    from blsnb.views.live.trace_view import TraceView
    from blsnb.watch.watch import Watch

_TABLES = {
    "blsnb.benchmark.bench.Bench": "load_tests.bench.bundle",
    "blsnb.planning.plans.plan.Plan": "load_tests.plan.bundle",
    "blsnb.planning.plans.check.Check": "load_tests.plan.check_bundle",
    "blsnb.engine.metrics.batching.ModelBatching": "commands.stats.batching_tables",
    "blsnb.evaluation.result.evaluation.Evaluation": (
        "evaluating.evaluate.evaluation_bundle"
    ),
    "blsnb.evaluation.result.comparison.EvaluationComparison": (
        "evaluating.evaluate.comparison_bundle"
    ),
    "blsnb.model_graph.graph.ModelGraph": "commands.graph.bundle",
    "blsnb.repository.status.ModelStatus": "card.bundle",
    "blsnb.watch.watch.Watch": "watching.watch.bundle",
}
"""Functions in `blsnb.magics` that return the displays of types, by type.

They are imported when a value is displayed, which is all that they need.
"""
_Printers = dict[str, Callable[..., Any]]
"""Displays by the name of a type."""
_EMPTY = {"text/html": "", "text/plain": ""}


def register(shell: Any, runs: RunDisplay) -> Callable[[], None]:
    """Register displays with IPython; return a function that removes them.

    Types are registered by name, so that their modules are imported only when a value
    is displayed.
    """

    def run_in_place(run: Run) -> None:
        """Display a run as a bundle, unless it is already displayed."""
        is_silent = _is_value(shell) and runs.is_silent(run.trace)
        if not (is_silent or runs.has_place(run.trace)):
            raise NotImplementedError

    def run_bundle(run: Run, **_: Any) -> dict[str, Any]:
        note_run(run)
        return bundle(run.trace)

    def comparison_bundle(comparison: Comparison, **_: Any) -> dict[str, Any]:
        from blsnb.views.documents import document

        _connect(comparison, runs)
        return document.mimebundle(
            comparison.trace, embed_previews=options.embed_previews
        )

    def parity_bundle(parity: Parity, **_: Any) -> dict[str, str]:
        from blsnb.magics.commands import verify

        if parity.comparison is not None:
            _connect(parity.comparison, runs)
        return verify.bundle(parity, embed_previews=options.embed_previews)

    bundles: _Printers = {
        **{name: _deferred(function) for name, function in _TABLES.items()},
        "blsnb.parity.parity.Parity": parity_bundle,
        "blsnb.results.comparison.Comparison": comparison_bundle,
        "blsnb.results.run.Run": run_bundle,
        "blsnb.views.live.trace_view.TraceView": _view_bundle,
    }
    in_place: _Printers = {
        "blsnb.results.run.Run": run_in_place,
        "blsnb.form.form.Form": _show_form,
        "blsnb.watch.watch.Watch": _show_watch,
    }
    undo = contextlib.ExitStack()
    formatters = shell.display_formatter
    undo.callback(_registered(formatters.mimebundle_formatter, bundles))
    undo.callback(_registered(formatters.ipython_display_formatter, in_place))
    return undo.close


def _registered(formatter: Any, printers: _Printers) -> Callable[[], None]:
    """Register displays; return a function that restores those of the user."""
    earlier = {name: formatter.for_type(name, ours) for name, ours in printers.items()}

    def unregister() -> None:
        for name, ours in printers.items():
            # IPython may have one by name and one by type.
            found = formatter.pop(name, None), formatter.pop(name, None)
            theirs = [each for each in found if each not in (None, ours)]
            restored = theirs[-1] if theirs else earlier[name]
            formatter.for_type(name, restored)

    return unregister


def _deferred(function: str) -> Callable[..., dict[str, Any]]:
    """Return a function that imports another one when a value is displayed."""
    home, _, name = function.rpartition(".")

    def bundle_of(value: Any, **_: Any) -> dict[str, Any]:
        module = importlib.import_module(f"blsnb.magics.{home}")
        shown: dict[str, Any] = getattr(module, name)(value)
        return shown

    return bundle_of


def _view_bundle(view: TraceView, **given: Any) -> Any:
    """Return the display of a run's widget, which in a saved notebook is a picture."""
    return view.placed() if has_page(get_ipython()) else view._repr_mimebundle_(**given)


def _connect(comparison: Comparison, runs: RunDisplay) -> None:
    """Connect the two runs, which are not shown again below their comparison."""
    for run in (comparison.this, comparison.baseline):
        note_run(cast("Run", run))
        runs.hide(run.trace)


def _is_value(shell: Any) -> bool:
    """Return whether the value of a cell is being displayed."""
    hook = shell.displayhook
    return bool(hook.is_active or getattr(hook, "msg", None))


def _show_form(form: Form) -> None:
    """Show a form, and below it the results of its requests.

    A saved notebook keeps the form as a text, and the last result.
    """
    if not (needs_displayed_widgets() or has_page(get_ipython())):
        display(form.still(), raw=True)
        return
    if needs_displayed_widgets():
        display(form.widget)
    else:
        display(form.placed(), raw=True)
    results = display(_EMPTY, raw=True, display_id=True)

    def update(shown: Any) -> None:
        if isinstance(shown, list):
            lines = "\n".join([repr(response) for response in shown])
            results.update({"text/plain": lines}, raw=True)
        else:
            results.update(shown)

    form.on_result(update)
    form.run_with(call_interruptibly)


def _show_watch(watch: Watch) -> None:
    """Show the list of a watch in a page; elsewhere its bundle is its display."""
    from blsnb.magics.watching.watch import show

    show(watch)
