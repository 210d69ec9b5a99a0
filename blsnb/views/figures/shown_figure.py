"""Matplotlib figures that a notebook displays without pyplot."""

from __future__ import annotations

import functools
import io
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(**options: Any) -> Figure:
    """Return an empty figure that displays itself as the value of a cell.

    Pyplot does not keep it. Without pyplot, matplotlib's own figures are displayed as a
    line of text.

    Parameters
    ----------
    options
        Arguments of ``matplotlib.figure.Figure``.
    """
    figure: Figure = _shown_figure()(**options)
    return figure


def png(figure: Figure, **options: Any) -> bytes:
    """Return a figure as a PNG file; options as of ``Figure.savefig``."""
    written = io.BytesIO()
    with warnings.catch_warnings():
        # A character that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
        figure.savefig(written, format="png", **options)
    return written.getvalue()


@functools.cache
def _shown_figure() -> Any:
    # Deferred: importing matplotlib takes longer than all of blsnb.
    from matplotlib.figure import Figure

    return type("Figure", (Figure,), {"_repr_png_": png})
