"""The interface of schedulers of a model version."""

from __future__ import annotations

from typing import Protocol

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.request.inflight import Inflight
from blsnb.pb_utils.message import ResponseMessage


class Rejected(Exception):
    """The scheduler answered a request with an error instead of executing it."""

    def __init__(self, response: ResponseMessage) -> None:
        super().__init__(response.error)
        self.response = response


class Scheduler(Protocol):
    """Decides when, where and in which batch a request is executed."""

    def run(self, inflight: Inflight, blocks_execute: bool) -> ModelInstance:
        """Wait until a request was executed; return the instance that executed it.

        Parameters
        ----------
        blocks_execute
            Whether the caller blocks the thread of an ``execute``.

        Raises
        ------
        Rejected
            The request was answered with an error instead.
        RequestError
            The scheduler refuses the request.
        HookFailed
            No instance could be created.
        Retired
            The model was reloaded or unloaded.
        Unwind
            The whole client request has ended.
        """

    @property
    def waiting_count(self) -> int:
        """Number of waiting requests."""

    def resized(self) -> None:
        """Adapt to a changed number of instances in the pool."""

    def retire(self) -> None:
        """Finalize the instances after the last request."""
