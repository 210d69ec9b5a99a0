"""Outside: the life of every request from outside, and of loads, from begin to end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from blsnb.engine.request.failure import end_at_the_reader
from blsnb.engine.request.lifetime import RootRequest, Unwind, interruptible
from blsnb.engine.request.roots import Roots
from blsnb.errors import ServerClosedError, WouldHang
from blsnb.trace.recorder import Recorder, RunRecord

T = TypeVar("T")
Begun = Callable[[RootRequest], None]
Folders = Callable[[], tuple[Path, ...]]
"""Returns the folders in which the files of models are."""


class Outside:
    """Begins requests, lets Ctrl-C end them, and ends their records.

    Parameters
    ----------
    recorder
        Where everything that happens is recorded.
    hang_notice_s
        After this long a wait is reported.
    folders
        By them an interrupt in a model's code is told from one in ours.
    leave_behind
        Replaces the instances that still run for a request that has ended.
    """

    def __init__(
        self,
        recorder: Recorder,
        hang_notice_s: float,
        folders: Folders,
        leave_behind: Callable[[RootRequest], None],
    ) -> None:
        self._recorder = recorder
        self._hang_notice_s = hang_notice_s
        self.folders = folders
        self._leave_behind = leave_behind
        self.roots = Roots()
        self.is_closed = False

    def open(
        self,
        deadline_ns: int = 0,
        record: RunRecord | None = None,
        begun: Begun | None = None,
    ) -> RootRequest:
        """Begin a request.

        Parameters
        ----------
        deadline_ns
            When its client leaves. 0 for never.
        record
            Of its run; one that is kept if None.
        begun
            Told of the request's life, so that another thread can cancel it.

        Raises
        ------
        ServerClosedError
            Nothing runs any more.
        """
        self.check_open()
        record = record or self._recorder.begin()
        root = RootRequest(record, self._hang_notice_s, deadline_ns)
        self.roots.add(root)
        if self.is_closed:
            # Since the look above: who closes may not have seen this request.
            self.end(root)
            self.check_open()
        if begun is not None:
            begun(root)
        return root

    def open_load(self) -> RootRequest:
        """Begin a load that is part of nothing else."""
        root = RootRequest(RunRecord(""), self._hang_notice_s)
        self.roots.add(root)
        return root

    def open_background(self) -> RootRequest:
        """Begin work that no request from outside asked for; nobody waits for it."""
        return RootRequest(self._recorder.begin(), self._hang_notice_s)

    def check_open(self) -> None:
        """Refuse what comes after the end.

        Raises
        ------
        ServerClosedError
            Nothing runs any more.
        """
        if self.is_closed:
            raise ServerClosedError

    def interruptibly(
        self, root: RootRequest, work: Callable[[], T], *, started: bool = False
    ) -> T:
        """Do work for a request from outside, until it is done or the request ends.

        Parameters
        ----------
        started
            Whether the work only starts the request: if another thread ends it at
            once, what it sent before can be read all the same.

        Raises
        ------
        WouldHang, KeyboardInterrupt
            Why the request ended.
        """
        __tracebackhide__ = True
        result: T | None = None
        try:
            with interruptible(root, self.folders):
                result = work()
        except Unwind:
            pass
        except KeyboardInterrupt as error:
            if not root.ended_by(error):
                raise
        stands = started and result is not None
        if root.ended is not None and not (
            stands and isinstance(root.ended, WouldHang)
        ):
            root.ended.run_record = root.record  # type: ignore[attr-defined]
            end_at_the_reader(root.ended)
            raise root.ended
        return cast("T", result)

    def close(self, root: RootRequest) -> None:
        """End the record of a request; mark what it left open."""
        if root.ended is not None:
            root.close_calls()
            self._leave_behind(root)
        self.end(root)

    def end(self, root: RootRequest) -> None:
        """End the record of a request that left nothing open."""
        self._recorder.end(root.record)
        self.roots.discard(root)
        root.done.wake()
