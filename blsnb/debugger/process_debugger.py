"""The debugger that is attached to this process: pydevd, which debugpy contains.

This is the only file that uses pydevd's names; they differ between its versions.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

_LOCK_TIMEOUT_S = 2.0
_OWN_FILES = f"{Path(__file__).parents[1]}/**"


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
    """The attached debugger.

    Parameters
    ----------
    py_db
        The debugger of pydevd.
    """

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
                filters.insert(place, self._filter(_OWN_FILES, True, True))
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
