"""Write files that appear only once they are complete."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blsnb.files.absent import absence_noted
from blsnb.files.owned import owned_file, sweep

_MAX_NAME_BYTES = 200
"""Maximum length of a file's name in its temporary one; systems allow 255 in all."""


@contextmanager
def output_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to, for a file that a user names; see `whole_file`.

    A link is followed, and an existing file keeps its permissions. A pipe or a device,
    such as ``/dev/stdout``, is written directly: a rename would replace it.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    with absence_noted(target), whole_file(target) as partial:
        if target.exists():
            shutil.copymode(target, partial)
        yield partial


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write, and rename it to the file's path at the end.

    If writing fails, an existing file stays unchanged.

    Raises
    ------
    OSError
        The file cannot be written; the error names it, not the temporary path.
    """
    prefix = f".{_shortened(path.name.lstrip('.'))}.blsnb-"
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


def _shortened(name: str) -> str:
    kept = os.fsencode(name)[:_MAX_NAME_BYTES]
    return kept.decode(sys.getfilesystemencoding(), "ignore")
