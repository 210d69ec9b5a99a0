"""What you see: reads the trace, knows no engine.

`TraceView` needs anywidget, `plot` and `png` need matplotlib; they are imported
when they are first asked for, so that importing blsnb does not pay for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blsnb.views.documents.document import html, mimebundle, page, still
from blsnb.views.live.flush_clock import FlushClock
from blsnb.views.pictures.snapshot import snapshot
from blsnb.views.tree import tree

if TYPE_CHECKING:
    from blsnb.views.figures.figure import plot, png
    from blsnb.views.live.trace_view import TraceView

__all__ = [
    "FlushClock",
    "TraceView",
    "html",
    "mimebundle",
    "page",
    "plot",
    "png",
    "snapshot",
    "still",
    "tree",
]


def __getattr__(name: str) -> Any:
    if name == "TraceView":
        from blsnb.views.live.trace_view import TraceView

        return TraceView
    if name in ("plot", "png"):
        from blsnb.views.figures import figure

        return getattr(figure, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
