"""The debugger that is attached to this process: pydevd, which debugpy contains.

This is the only file that uses pydevd's names; they differ between its versions.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

_LOCK_TIMEOUT_S = 2.0
_IS_OWN = "blsnb_stops"
"""Attribute that marks the function of `ProcessDebugger.on_stop`."""
_NO_STEP = -1
"""Command of a thread that takes no step."""
_OWN_MODULES = "blsnb"
_FOLDER = f"{Path(__file__).parents[1]}/"
_OWN_FILES = f"{_FOLDER}**"
_LIBRARIES = (
    "<",
    *(f"{sysconfig.get_path(kind)}/" for kind in ("stdlib", "purelib", "platlib")),
)
"""How the files of Python and of installed packages begin."""


Place = tuple[str, int]
"""An executed file, and a line or the number of a breakpoint in it."""


class Stop(NamedTuple):
    """A thread that stops."""

    frame: types.FrameType
    is_own: bool
    """Whether it stops by itself, and not because another thread has stopped."""
    is_step: bool
    """Whether a step ends here."""
    wait: Callable[[], object]
    """Waits until the thread continues."""
    skip: Callable[[], None]
    """Continues the thread's step without a stop."""
    drop: Callable[[], None]
    """Ends the thread's step without a stop."""
    end: Callable[[], None] = lambda: None
    """Lets all threads continue, without steps."""

    @property
    def is_inside(self) -> bool:
        """Whether the thread stops with another one, in blsnb or a library it calls.

        From Python 3.12 the filters of files do not prevent it.
        """
        frame: types.FrameType | None = self.frame
        while frame and not frame.f_code.co_filename.startswith(_FOLDER):
            if not frame.f_code.co_filename.startswith(_LIBRARIES):
                return False
            frame = frame.f_back
        return not self.is_own and frame is not None


_numbers = itertools.count(1 << 30)
"""Numbers of breakpoints, above those of a client."""


class UnknownDebugger(Exception):
    """A name that blsnb uses is missing in this version of debugpy."""


class MappedLines(NamedTuple):
    """Lines of a source that a client shows, and the file that executes them."""

    first: int
    """Number of the first line in the source."""
    length: int
    file: str
    """The executed file; its first line is the first of these lines."""


class ProcessDebugger:
    """The attached debugger of pydevd."""

    def __init__(self, py_db: Any) -> None:
        self.py_db = py_db
        with _known_names():
            api = importlib.import_module("_pydevd_bundle.pydevd_api")
            mapping = importlib.import_module("_pydevd_bundle.pydevd_source_mapping")
            filtering = importlib.import_module("_pydevd_bundle.pydevd_filtering")
            self._api = api.PyDevdAPI()
            self._entry = mapping.SourceMappingEntry
            self._filter = filtering.ExcludeFilter
            self._files_filtering = py_db._files_filtering
            self._lock = py_db._main_lock

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Hold the lock under which the debugger handles requests of its client.

        The value is False if the lock was not free in time.
        """
        is_held = self._lock.acquire(timeout=_LOCK_TIMEOUT_S)
        try:
            yield is_held
        finally:
            if is_held:
                self._lock.release()

    def map_lines(self, source: str, lines: Sequence[MappedLines]) -> None:
        """Replace the mapped lines of a source; breakpoints in them move along."""
        with _known_names():
            entries = [
                self._entry(each.first, each.first + each.length - 1, 1, each.file)
                for each in lines
            ]
            refusal = self._api.set_source_mapping(self.py_db, source, entries)
        if refusal:
            raise UnknownDebugger(str(refusal))

    def add_breakpoints(self, places: Iterable[Place], condition: str) -> list[Place]:
        """Set breakpoints at lines of executed files that have none.

        Returns
        -------
        list of Place
            File and number of each, for `remove_breakpoints`.
        """
        added: list[Place] = []
        with _known_names():
            policy = "ALL" if self.py_db.multi_threads_single_notification else "NONE"
            for file, line in places:
                if line not in self.py_db.breakpoints.get(file, {}):
                    number = next(_numbers)
                    how = (number, line, condition, "None", None, policy, None, None)
                    self._api.add_breakpoint(self.py_db, file, "python-line", *how)
                    added.append((file, number))
        return added

    def remove_breakpoints(self, added: Iterable[Place]) -> None:
        """Remove breakpoints by file and number."""
        with _known_names():
            for file, number in added:
                self._api.remove_breakpoint(self.py_db, file, "python-line", number)

    def watch_lines(self, codes: Iterable[types.CodeType]) -> None:
        """Let breakpoints stop in functions that run already, or are suspended.

        From Python 3.12 the debugger observes the lines of a function from its start.
        """
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            tool, line = monitoring.DEBUGGER_ID, monitoring.events.LINE
            for code in codes:
                observed = monitoring.get_local_events(tool, code)
                monitoring.set_local_events(tool, code, observed | line)

    def trace_again(self) -> None:
        """Trace all threads if this one is no longer traced.

        Python 3.11 no longer traces a thread after an exception in its trace function,
        such as Ctrl-C while the thread is stopped.
        """
        if sys.version_info < (3, 12) and sys.gettrace() is None:
            with _known_names():
                dispatch = self.py_db.trace_dispatch
                self.py_db.enable_tracing(dispatch, apply_to_all_threads=True)

    def on_stop(self, around: Callable[[Stop], None]) -> None:
        """Call a function for each thread that stops, instead of its wait."""
        with _known_names():
            constants = importlib.import_module("_pydevd_bundle.pydevd_constants")
            comm = importlib.import_module("_pydevd_bundle.pydevd_comm_constants")
            threads = importlib.import_module("_pydevd_bundle.pydevd_thread_lifecycle")
            running, resume = constants.STATE_RUN, threads.resume_threads
            suspended = comm.CMD_THREAD_SUSPEND
            steps = {vars(comm)[name] for name in dir(comm) if "CMD_STEP_" in name}
            wait = self.py_db.do_wait_suspend
            if hasattr(wait, _IS_OWN):
                return

            def stop(thread: Any, frame: Any, *how: Any, **options: Any) -> None:
                def skip() -> None:
                    thread.additional_info.pydev_state = running
                    resume("*", except_thread=thread)

                def drop() -> None:
                    thread.additional_info.pydev_step_cmd = _NO_STEP
                    thread.additional_info.pydev_step_stop = None
                    skip()

                is_own = thread.stop_reason != suspended
                around(
                    Stop(
                        frame,
                        is_own,
                        thread.stop_reason in steps,
                        lambda: wait(thread, frame, *how, **options),
                        skip,
                        drop,
                        lambda: resume("*"),
                    )
                )

            setattr(stop, _IS_OWN, True)
            self.py_db.do_wait_suspend = stop

    def show_values(self, text: object, parts: object) -> None:
        """Show values among the variables as providers of pydevd describe them."""
        with _known_names():
            utils = importlib.import_module("_pydevd_bundle.pydevd_extension_utils")
            api = importlib.import_module("_pydevd_bundle.pydevd_extension_api")
            kinds = api.StrPresentationProvider, api.TypeResolveProvider
            for kind, own in zip(kinds, (text, parts), strict=True):
                known = utils.extensions_of_type(kind)
                if type(own) not in map(type, known):
                    known.append(own)

    def hide_package(self) -> None:
        """Leave blsnb's own files out of stacks and steps; keep the user's filters.

        The first filter that fits a file counts. An earlier filter of the user that
        includes files keeps its place; the many that exclude files follow, since each
        new function is compared with all filters before the one that fits.
        """
        with _known_names():
            filters = list(self._files_filtering._exclude_filters)
            if all(each.name != _OWN_FILES for each in filters):
                included = [n for n, each in enumerate(filters, 1) if not each.exclude]
                place = max(included, default=0)
                # By module, too: methods of dataclasses belong to no file.
                own = (_OWN_FILES, True), (_OWN_MODULES, False)
                filters[place:place] = [self._filter(n, True, path) for n, path in own]
                self._api.set_exclude_filters(self.py_db, filters)


def attached() -> ProcessDebugger | None:
    """Return the debugger of this process; None if it has never been switched on.

    Raises
    ------
    UnknownDebugger
        The debugger is of a version that lacks a name.
    """
    pydevd = sys.modules.get("pydevd")
    if pydevd is None:
        return None
    with _known_names():
        py_db = pydevd.get_global_debugger()
    return None if py_db is None else ProcessDebugger(py_db)


@contextmanager
def _known_names() -> Iterator[None]:
    try:
        yield
    except (ImportError, AttributeError, TypeError) as error:
        raise UnknownDebugger(str(error)) from error
