"""Write files that appear only once they are complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blsnb.files.owned import owned_file, sweep


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write, and rename it to the file's path at the end.

    If writing fails, an existing file stays unchanged.

    Raises
    ------
    OSError
        The file cannot be written; the error names it, not the temporary path.
    """
    prefix = f".{path.name.lstrip('.')}.blsnb-"
    sweep(path.parent, prefix)
    try:
        # Several threads may write one file: the last to finish wins.
        with owned_file(path.parent, prefix) as partial:
            yield partial
            partial.replace(path)
    except OSError as error:
        # The error of a full disk names no file.
        named = str(error.filename or path.with_name(prefix))
        if error.errno is None or not named.startswith(str(path.with_name(prefix))):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
