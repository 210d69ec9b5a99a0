"""A message for ``breakpoint()`` while the notebook's debugger is off."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_PASSED_OVER = (
    "breakpoint() at {place} did not stop: the debugger of the notebook is off. Turn "
    "it on (the bug at the top right of JupyterLab) and run the cell again, or use "
    "import pdb; pdb.set_trace()."
)


class Breakpoints:
    """Reports breakpoints that debugpy ignores because no debugger is attached."""

    def __init__(self, place_of: Callable[[str, int], str]) -> None:
        self._place_of = place_of
        self._hook: Callable[..., Any] | None = None
        """The hook that was replaced; None if it was not."""
        self._reported: set[tuple[str, int]] = set()

    def begin_cell(self, *_: Any) -> None:
        """Replace the hook of a debugger that is not attached; restore it otherwise.

        A debugger that is attached must find the caller's frame, not one of blsnb.
        """
        self._reported.clear()
        self.restore()
        if _is_debugpy(sys.breakpointhook) and not _is_attached():
            self._hook, sys.breakpointhook = sys.breakpointhook, self._passed_over

    def restore(self) -> None:
        """Restore the debugger's hook, unless another one has been set since."""
        if self._hook is not None and sys.breakpointhook == self._passed_over:
            sys.breakpointhook = self._hook
        self._hook = None

    def _passed_over(self, *arguments: Any, **options: Any) -> Any:
        frame = sys._getframe(1)
        place = frame.f_code.co_filename, frame.f_lineno
        if self._hook is not None and _is_attached():
            return self._hook(*arguments, **options)
        if place not in self._reported:
            self._reported.add(place)
            print(_PASSED_OVER.format(place=self._place_of(*place)))
        return None


def _is_debugpy(hook: object) -> bool:
    names = getattr(hook, "__module__", ""), getattr(hook, "__name__", "")
    return any("debugpy" in str(name) for name in names)


def _is_attached() -> bool:
    debugpy = sys.modules.get("debugpy")
    return debugpy is not None and bool(debugpy.is_client_connected())
