"""Reload models of followed folders at the start of a cell; show the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.display import display

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.options import options
from blsnb.parts.server_parts import parts_of

if TYPE_CHECKING:
    from blsnb.parts.following import FollowedChange


def load_saved(*_: Any) -> None:
    """Load models whose files were saved, and show their cards."""
    server = default.started()
    if server is None or server.closed:
        return
    parts = parts_of(server)
    for name, error in parts.folders.load_changed().items():
        _show_card(name, error.reason.strip() if error is not None else "")
    # Not by the default server, which would warn of settings before the user's line.
    parts.following.report = _show_outcome
    parts.following.poll()


def show_followed() -> None:
    """Show the outcome of each later load in followed folders."""
    parts_of(default.server()).following.report = _show_outcome


def _show_outcome(outcome: FollowedChange) -> None:
    if outcome.failed or not outcome.text:
        _show_card(outcome.name, outcome.text)
    else:
        display(card.notice(outcome.text), raw=True)


def _show_card(name: str, reason: str) -> None:
    """Show the card of a loaded model, or why its load failed."""
    failure = f"its changed files do not load: {reason}" if reason else ""
    if options.show or failure:
        status = default.server().model(name)
        display(card.bundle(status, failure), raw=True)
