"""Answers to the requests of the panel."""

from __future__ import annotations

from blsnb.panel.host import Host
from blsnb.panel.model_actions import MODEL_ACTIONS, act_on_model
from blsnb.views.documents.buffer import Buffer
from blsnb.views.live.queries import Message, check


def actions(host: Host) -> list[str]:
    """Return the names of the actions that this kernel has."""
    return [name for name in MODEL_ACTIONS if name != "try" or host.has_forms]


def answered(host: Host, query: Message, buffer: Buffer) -> Message:
    """Answer a request of the panel.

    Raises
    ------
    QueryError
        The request is malformed, or was refused; its text says why.
    """
    check(query, "action")
    return act_on_model(host, query, buffer)
