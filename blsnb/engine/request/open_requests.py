"""Client requests in flight: opened, interrupted, closed, and drained at shutdown."""

from __future__ import annotations

# `signal` makes an enumeration of each handler, a quarter of a small request's time.
import _signal  # type: ignore[import-not-found]
import contextlib
import logging
import signal
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator

from blsnb.engine.request.interrupts import Folders, InterruptHandler
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.waiter import Waiter
from blsnb.errors import RequestInterrupted, ServerClosedError
from blsnb.pb_utils.message import RequestMessage
from blsnb.trace.recorder import Recorder
from blsnb.trace.run_record import RunRecord

Begun = Callable[[RootRequest], None]
"""Receives a new request, so that other threads can cancel it."""
_KEPT = (None, signal.SIG_IGN)
"""Handlers of SIGINT that are kept; None is not Python's and cannot be restored."""
_log = logging.getLogger(__name__)
_STOPPING = (
    "Server is stopping, scheduler for model has stopped accepting new inference "
    "requests"
)


class OpenRequests:
    """Client requests that have not completed.

    They are held weakly: an abandoned request does not delay shutdown. There is no
    lock, since the garbage collector may remove a request at any point.

    Parameters
    ----------
    recorder
        Records the runs.
    hang_notice_s
        Seconds after which a wait is reported.
    folders
        Returns the folders of the models' files, where interrupts are raised.
    replace_instances
        Replaces the instances that still execute an ended request.
    """

    def __init__(
        self,
        recorder: Recorder,
        hang_notice_s: float,
        folders: Folders,
        replace_instances: Callable[[RootRequest], None],
    ) -> None:
        self._recorder = recorder
        self._hang_notice_s = hang_notice_s
        self.folders = folders
        self._replace_instances = replace_instances
        # Not a WeakSet: only a dictionary can be copied in one step.
        self._open = weakref.WeakValueDictionary[int, RootRequest]()
        self._beside: dict[Waiter, RootRequest] = {}
        """Calls on threads of their own, which their callers may leave."""
        self.is_stopping = False
        """Whether the server refuses new requests while it completes those in
        flight."""
        self.is_closed = False

    def open(
        self,
        deadline_ns: int = 0,
        record: RunRecord | None = None,
        begun: Begun | None = None,
    ) -> RootRequest:
        """Begin a client request.

        Parameters
        ----------
        deadline_ns
            Monotonic time at which the client leaves; 0 for no deadline.
        record
            Record of the run; None creates one that the server keeps.

        Raises
        ------
        ServerClosedError
            The server was closed.
        """
        record = record or self._recorder.begin()
        root = RootRequest(record, self._hang_notice_s, deadline_ns, self.folders)
        self._open[id(root)] = root
        if self.is_closed:
            # Checked after it was added, because `drain` may not have seen the request.
            self.end(root)
            raise ServerClosedError
        if begun is not None:
            begun(root)
        return root

    def open_load(self) -> RootRequest:
        """Begin a load that does not belong to a request."""
        root = RootRequest(RunRecord(""), self._hang_notice_s, folders=self.folders)
        self._open[id(root)] = root
        return root

    def open_background(self) -> RootRequest:
        """Begin a call of a model outside any client request."""
        return RootRequest(self._recorder.begin(), self._hang_notice_s)

    def close(self, root: RootRequest) -> None:
        """End the record of a request; mark its calls that have no end.

        Closing an ended request again has no effect.
        """
        if root.ended is not None:
            if id(root) not in self._open:
                return
            root.close_calls()
            self._replace_instances(root)
        self.end(root)

    def end(self, root: RootRequest) -> None:
        """End the record of a request whose calls have all ended."""
        self._recorder.end(root.record)
        self._open.pop(id(root), None)
        root.complete()

    @contextlib.contextmanager
    def beside(self, root: RootRequest) -> Iterator[None]:
        """Let shutdown wait for a call that can outlast its client request."""
        ended = Waiter()
        self._beside[ended] = root
        try:
            yield
        finally:
            del self._beside[ended]
            ended.wake()

    def in_flight(self) -> list[RootRequest]:
        """Return the requests that are open now."""
        roots = (reference() for reference in self._open.valuerefs())
        return [root for root in roots if root is not None]

    def drain(self, timeout_s: float) -> None:
        """Wait until all requests have completed; end the others at the timeout.

        Ctrl-C ends them at once.
        """
        deadline = time.monotonic() + timeout_s

        def drain(root: RootRequest, wait: Callable[[float], bool]) -> None:
            left_s = max(0.0, deadline - time.monotonic())
            if root.ended is None and not wait(left_s):
                root.end(ServerClosedError())

        try:
            for root in self.in_flight():
                drain(root, root.wait_until_complete)
            for ended, root in list(self._beside.items()):
                drain(root, ended.wait)
        except KeyboardInterrupt:
            self.drain(0)
            raise


def stopping_refusal(message: RequestMessage, scheduling: str) -> RequestError:
    """Return the refusal of a request that arrives while the server is closing.

    Parameters
    ----------
    scheduling
        How its model is scheduled, as in `ModelConfig.scheduling`.

    References
    ----------
    core: src/dynamic_batch_scheduler.cc, src/sequence_batch_scheduler.cc, Enqueue
    """
    prefix = "" if scheduling == "sequence_batching" else message.fields.prefix
    advice = "Send requests before server.close(), or make a new blsnb.Server()."
    return RequestError(f"{prefix}{_STOPPING}", "UNAVAILABLE", advice)


@contextlib.contextmanager
def interruptible(
    root: RootRequest, close: Callable[[RootRequest], None]
) -> Iterator[None]:
    """Let Ctrl-C end the request, even if a model catches the interrupt.

    Only the main thread receives signals. The interrupt is raised in code of models and
    users; inside the engine it is only noted, so that no instance is lost between two
    lists. A model that continues is interrupted again. `Unwind` stops here;
    `RootRequest.raise_ended` then raises the reason.

    Parameters
    ----------
    close
        Called with an interrupted request; a further Ctrl-C does not interrupt it.
    """
    main, previous = threading.main_thread(), _signal.getsignal(signal.SIGINT)
    is_handled = threading.current_thread() is main and previous not in _KEPT
    handler: InterruptHandler | None = None
    is_over = False

    def on_interrupt(number: int, frame: types.FrameType | None) -> None:
        nonlocal handler
        made = InterruptHandler(root.end, root.folders, previous)
        # During a call another Ctrl-C may have been handled; none is between these.
        if handler is None:
            handler = made
        if is_over:
            handler.close()
        handler.handle(number, frame)

    if is_handled:
        _signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    except Unwind as error:
        root.unwound(error)
    except KeyboardInterrupt as error:
        if not root.ended_by(error):
            raise
    finally:
        # From here on Ctrl-C closes the handler that it makes.
        is_over = True
        if handler is not None:
            _close_interrupted(root, close, handler)
        if is_handled and _signal.getsignal(signal.SIGINT) is on_interrupt:
            _signal.signal(signal.SIGINT, previous)


def _close_interrupted(
    root: RootRequest, close: Callable[[RootRequest], None], handler: InterruptHandler
) -> None:
    try:
        if isinstance(root.ended, RequestInterrupted):
            close(root)
    except Exception:
        _log.exception("an interrupted request could not be closed")
    handler.close()
