"""Figures of matplotlib that a notebook shows without pyplot."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(**options: Any) -> Figure:
    """Return an empty figure that shows itself as a cell's value.

    Pyplot knows nothing of it, and so does not keep it: a figure of matplotlib's own
    would then be a line of text in a notebook.

    Parameters
    ----------
    options
        What ``matplotlib.figure.Figure`` takes.
    """
    figure: Figure = _shown_figure()(**options)
    return figure


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG file."""
    written = io.BytesIO()
    figure.savefig(written, format="png")
    return written.getvalue()


@functools.cache
def _shown_figure() -> Any:
    # Here, since importing matplotlib takes longer than all else in blsnb.
    from matplotlib.figure import Figure

    return type("Figure", (Figure,), {"_repr_png_": png})
