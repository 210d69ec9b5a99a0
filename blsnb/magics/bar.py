"""Bar: how far something is that takes its time; moves, and is a line afterwards."""

from __future__ import annotations

from html import escape

from IPython.display import DisplayHandle, display


class Bar:
    """A bar that moves while something takes its time, and is a line afterwards."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._said = "not begun"
        self._handle: DisplayHandle | None = None

    def __call__(self, share: float, words: str) -> None:
        """Move."""
        self._said = words
        percent = f"{share:.0%}"
        label = f"{self._name}: {words}"
        self._show(
            f'<progress value="{share:.3f}" max="1" aria-label="{escape(label)}">'
            f"</progress> {percent} · {escape(label)}",
            f"{percent} {label}",
        )

    def end(self) -> None:
        """Leave a line."""
        text = f"{self._name}: {self._said}"
        self._show(f"<small>{escape(text)}</small>", text)

    def _show(self, page: str, plain: str) -> None:
        shown = {"text/html": page, "text/plain": plain}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)
