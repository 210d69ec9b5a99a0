"""Rich displays of blsnb's types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from blsnb.magics import card
from blsnb.magics.commands import bench, stats, verify
from blsnb.magics.frontend import bundle
from blsnb.options import options

if TYPE_CHECKING:
    from blsnb.comparison import Comparison
    from blsnb.parity.parity import Parity
    from blsnb.run import Run


def register(shell: Any, shown: Callable[[Run], bool]) -> Callable[[], None]:
    """Register displays with IPython; return a function that removes them.

    Types are registered by name, so that their modules are imported only when a value
    is displayed.

    Parameters
    ----------
    shown
        Notes a displayed run; returns whether the cell has shown it before, in which
        case one line is enough.
    """
    formatter = shell.display_formatter.mimebundle_formatter

    def run_bundle(run: Run, **_: Any) -> dict[str, Any]:
        return {"text/plain": repr(run)} if shown(run) else bundle(run.trace)

    def comparison_bundle(comparison: Comparison, **_: Any) -> dict[str, Any]:
        from blsnb.views.documents import document

        # Its two runs need not be shown again below it.
        for run in (comparison.this, comparison.baseline):
            shown(cast("Run", run))
        return document.mimebundle(
            comparison.trace, embed_previews=options.embed_previews
        )

    def parity_bundle(parity: Parity, **_: Any) -> dict[str, str]:
        return verify.bundle(parity, embed_previews=options.embed_previews)

    printers: dict[str, Callable[..., dict[str, Any]]] = {
        "blsnb.parity.parity.Parity": parity_bundle,
        "blsnb.benchmark.bench.Bench": lambda measured, **_: bench.bundle(measured),
        "blsnb.engine.metrics.batching.ModelBatching": (
            lambda counts, **_: stats.batching_tables(counts)
        ),
        "blsnb.comparison.Comparison": comparison_bundle,
        "blsnb.run.Run": run_bundle,
        "blsnb.repository.status.ModelStatus": lambda status, **_: card.bundle(status),
    }
    before = {
        name: formatter.for_type_by_name(*name.rsplit(".", 1), printer)
        for name, printer in printers.items()
    }

    def unregister() -> None:
        for name, earlier in before.items():
            formatter.pop(name, None)
            if earlier is not None:
                formatter.for_type_by_name(*name.rsplit(".", 1), earlier)

    return unregister
