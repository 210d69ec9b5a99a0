"""Files that are there only once they are whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to; what was written takes its place at the end.

    If writing fails, what stood there before still does.

    Raises
    ------
    OSError
        The file cannot be written; it is named, not what it is called until then.
    """
    # Several threads may write one file: the last one's stands there in the end.
    unique = f"{os.getpid()}-{os.urandom(4).hex()}"
    partial = path.with_name(f".{path.name}.{unique}.partial")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        # A disk that is full names no file.
        named = error.filename or partial
        if error.errno is None or str(named) != str(partial):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        # A disk that nobody may write to refuses this as well.
        with suppress(OSError):
            partial.unlink()
