"""What you see: reads the trace, knows no engine.

`TraceView` needs anywidget, `draw_figure` and `png` need matplotlib; they are imported
when they are first asked for, so that importing blsnb does not pay for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blsnb.views.document import html, mimebundle, still
from blsnb.views.flush import FlushClock
from blsnb.views.snapshot import snapshot
from blsnb.views.tree import tree

if TYPE_CHECKING:
    from blsnb.views.figure import draw_figure, png
    from blsnb.views.trace_view import TraceView

__all__ = [
    "FlushClock",
    "TraceView",
    "draw_figure",
    "html",
    "mimebundle",
    "png",
    "snapshot",
    "still",
    "tree",
]


def __getattr__(name: str) -> Any:
    if name == "TraceView":
        from blsnb.views.trace_view import TraceView

        return TraceView
    if name in ("draw_figure", "png"):
        from blsnb.views import figure

        return getattr(figure, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
