"""A run beside an earlier one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.arguments import path_of
from blsnb.printable import printable
from blsnb.results.traced import Traced
from blsnb.trace.comparison import CallChange, TraceComparison, compare
from blsnb.trace.spans import Span

if TYPE_CHECKING:
    from blsnb.tensors.difference import TensorDifference


class Comparison:
    """A run beside an earlier one, such as one before an edit.

    A notebook displays it; ``print(comparison)`` prints it as text.

    Parameters
    ----------
    this
        The later run.
    baseline
        The earlier run.
    """

    def __init__(self, this: Traced, baseline: Traced) -> None:
        self.this = this
        self.baseline = baseline
        self._traces = compare(this.trace, baseline.trace)

    def __repr__(self) -> str:
        from blsnb.views.summary import differences, heading

        words = ", ".join(differences(self._traces))
        return printable(f"<Comparison {heading(self._traces.this)}: {words}>")

    def __str__(self) -> str:
        """Return the comparison as text: times of both runs, and the differences."""
        from blsnb.views.tree import tree

        return tree(self._traces)

    @property
    def trace(self) -> TraceComparison:
        """The calls of both runs, as values."""
        return self._traces

    @property
    def changes(self) -> list[CallChange]:
        """Differences of the calls that both runs have, in the order of the calls."""
        return [self._traces.changes[row] for row in sorted(self._traces.changes)]

    @property
    def new(self) -> list[Span]:
        """Calls of this run that the baseline does not have."""
        return [self._traces.this.spans[row] for row in self._traces.alignment.new]

    @property
    def missing(self) -> list[Span]:
        """Calls of the baseline that this run does not have."""
        before = self._traces.baseline.spans
        return [before[row] for row in self._traces.alignment.missing]

    @property
    def not_compared(self) -> dict[str, list[Span]]:
        """Calls that could not be compared completely, by reason.

        Values may be unrecorded or dropped, or a call may still be running.
        """
        spans = self._traces.this.spans
        return {
            why: [spans[row] for row in rows]
            for why, rows in self._traces.unknown.items()
        }

    @property
    def differences(self) -> list[TensorDifference]:
        """Differences between the outputs of the client requests."""
        return [
            tensor.difference
            for row in self._traces.this.roots
            if row in self._traces.changes
            for tensor in self._traces.changes[row].tensors
            if tensor.role == "output"
        ]

    def widget(self) -> Any:
        """Return the connected widget, which reads tensors from the kernel."""
        from blsnb.views.live.trace_view import TraceView

        return TraceView(lambda: self._traces.this, baseline=self.baseline)

    def save(self, path: str | Path) -> Path:
        """Write the comparison as a web page that needs neither kernel nor network.

        Parameters
        ----------
        path
            The file to write, ending in ``.html``.

        Returns
        -------
        Path
            The written file.

        Raises
        ------
        TypeError
            The path has the wrong type.
        ValueError
            The suffix is not ``.html``.
        OSError
            The file cannot be written; an existing one is unchanged.
        """
        from blsnb.results.saving import save_page

        path = path_of(path=path)
        if path.suffix.lower() != ".html":
            raise ValueError(f"a comparison is saved as .html, not {path.suffix!r}")
        save_page(path, self._traces)
        return path
