"""Texts of two servers made alike: without what only tells where they run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import blsnb.pb_utils

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_LIBRARY = re.compile(r"/[^\s'\"]*/lib/python3\.\d+/")
# What stands in a model's folder has NAME/VERSION/ before it, wherever that is.
_FOLDER = re.compile(r"(?<![^\s'\"(])/[^\s'\"]*?/(?=[^/\s'\"]+/\d+/[^/\s'\"]+\.py)")
_BACKEND = "<backend>/triton_python_backend_utils.py"
_OURS = re.escape(str(Path(blsnb.pb_utils.__file__).parent)) + r"/\w+\.py"
_THEIRS = r"/[^\s'\"]*/triton_python_backend_utils\.py"
_OWN = re.compile(rf"(?:{_OURS}|{_THEIRS})(?:\(\d+\))?")


def plain(text: str, folders: Iterable[Path]) -> str:
    """Return a text without paths of this machine and addresses in memory.

    Parameters
    ----------
    folders
        Those in which the server's models are, as far as they are known.
    """
    for folder in sorted(map(str, folders), key=len, reverse=True):
        text = text.replace(folder, "<repository>")
    text = _FOLDER.sub("<repository>/", text)
    text = _OWN.sub(_BACKEND, text)
    text = _ADDRESS.sub(" at 0x…", text)
    return _LIBRARY.sub("<python>/", text)
