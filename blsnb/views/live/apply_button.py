"""A button that applies a plan to the models of its server, and its report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import ipywidgets

from blsnb.errors import BlsnbError
from blsnb.views.live.placed_widget import PlacedWidget
from blsnb.views.live.status import sentence

_TOOLTIP = "change config.pbtxt of the models to the best configuration"
_EQUAL = "The models have this configuration."


class Applicable(Protocol):
    """A plan of the models of a server."""

    def unapplied(self) -> list[str]:
        """Return the models that `apply` changes now."""

    def apply(self) -> list[str]:
        """Change models, all or none, and return their names."""

    def changes(self, models: Iterable[str]) -> str:
        """Return the planned settings of models in words."""


class ApplyButton:
    """A button, and a sentence about what it changes or has changed.

    The button stays: a cell may define a model again after its plan was applied.

    Parameters
    ----------
    plan
        What is applied.
    call
        Calls what a click does, possibly on another thread.
    """

    def __init__(
        self,
        plan: Applicable,
        call: Callable[[Callable[[], None]], None] = lambda work: work(),
    ) -> None:
        self._plan = plan
        self._call = call
        self.button = ipywidgets.Button(description="Apply", tooltip=_TOOLTIP)
        self.button.layout.flex = "0 0 auto"
        self.button.on_click(self._pressed)
        self.status = ipywidgets.HTML()
        try:
            changes = plan.changes(plan.unapplied())
        except BlsnbError as error:
            self.button.disabled = True
            self._say(str(error))
            return
        self._say(f"To be applied: {changes}." if changes else _EQUAL)

    def document(self) -> str:
        """Return HTML that is empty except in a page with a kernel."""
        shown: Any = ipywidgets.HBox([self.button, self.status])
        return PlacedWidget(shown, lambda result: None).document("")

    def _pressed(self, _: object) -> None:
        self.button.disabled = True
        self._say("Applying …")
        self._call(self._apply)

    def _apply(self) -> None:
        try:
            changes = self._plan.changes(self._plan.apply())
        except (BlsnbError, KeyboardInterrupt) as error:
            self._say(str(error) or "Interrupted: nothing was changed.", is_error=True)
        else:
            self._say(f"Applied: {changes}." if changes else _EQUAL)
        finally:
            self.button.disabled = False

    def _say(self, text: str, *, is_error: bool = False) -> None:
        self.status.value = sentence(text, is_error=is_error)
