"""What every scheduler of a model version does."""

from __future__ import annotations

from typing import Protocol

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.request.inflight import Inflight
from blsnb.pb_utils.message import ResponseMessage


class Rejected(Exception):
    """A request has its scheduler's error for an answer: it was never executed."""

    def __init__(self, response: ResponseMessage) -> None:
        super().__init__(response.error)
        self.response = response


class Scheduler(Protocol):
    """Decides when, where and with which others a request is executed."""

    def run(self, inflight: Inflight, certain: bool) -> ModelInstance:
        """Have a request executed, waiting until it was; return by whom.

        Parameters
        ----------
        certain
            Whether this blocks the thread of an ``execute``.

        Raises
        ------
        Rejected
            It never was.
        RequestError
            The scheduler refuses the request.
        HookFailed
            No instance could be made for it.
        Retired
            Another version of the model serves now, or none.
        Unwind
            The whole request has ended.
        """

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait."""

    def resized(self) -> None:
        """Learn that its pool has other instances than before."""

    def retire(self) -> None:
        """Finalize the instances when the last request is done."""
