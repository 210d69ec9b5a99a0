"""Files that are there only once they are whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blsnb.files.owned import owned_file, sweep


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to; what was written takes its place at the end.

    If writing fails, what stood there before still does.

    Raises
    ------
    OSError
        The file cannot be written; it is named, not what it is called until then.
    """
    prefix = f".{path.name.lstrip('.')}.blsnb-"
    sweep(path.parent, prefix)
    try:
        # Several threads may write one file: the last one's stands there in the end.
        with owned_file(path.parent, prefix) as partial:
            yield partial
            partial.replace(path)
    except OSError as error:
        # A disk that is full names no file.
        named = str(error.filename or path.with_name(prefix))
        if error.errno is None or not named.startswith(str(path.with_name(prefix))):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
