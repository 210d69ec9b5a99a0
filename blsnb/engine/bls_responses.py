"""The responses of a decoupled BLS request."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING

from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import Unwind
from blsnb.engine.request.streaming import Readable
from blsnb.pb_utils.message import ResponseMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from blsnb.engine.request.inflight import Execution

_LOST = (
    "Triton before 25.04 passes an error on to the calling model only if it is the "
    "first response and has the final flag: this error is lost, or the caller waits "
    "forever. Check for errors before the first response, or send them as an output."
)


class BlsResponses:
    """Responses for the model that sent the request; dropping them cancels nothing.

    A wait on the thread of an ``execute`` is recorded, since it could be part of a
    deadlock.

    Parameters
    ----------
    responses
        The responses, for one reader.
    execution
        Returns the current execution of the model's instance.
    as_released
        Converts a response to that of the followed Triton release.
    loses_errors
        Whether that release loses an error that is not the only response.
    """

    def __init__(
        self,
        responses: Readable,
        execution: Callable[[], Execution | None],
        as_released: Callable[[ResponseMessage], ResponseMessage],
        loses_errors: bool,
    ) -> None:
        self._responses = responses
        self._execution = execution
        self._as_released = as_released
        self._loses_errors = loses_errors

    def __del__(self) -> None:
        self._responses.leave()

    def get(self, number: int) -> ResponseMessage | None:
        """Return a response, waiting for it; None after the last one."""
        execution = self._execution()
        if execution is not None and execution.thread_id != get_ident():
            execution = None
        if execution is not None and isinstance(self._responses, Inflight):
            execution.blocked_on = self._responses
        try:
            response = self._responses.get(number)
        except Unwind:
            if execution is not None:
                raise
            return None
        finally:
            if execution is not None:
                execution.blocked_on = None
        if response is None:
            return None
        is_only = not number and response.final
        if response.error is not None and not is_only and self._loses_errors:
            # A single response is final.
            assert isinstance(self._responses, Inflight)
            self._responses.note(_LOST)
        return self._as_released(response)

    def cancel(self) -> None:
        """Cancel the request."""
        self._responses.cancel()
