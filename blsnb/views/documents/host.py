"""The host element of a view: a picture, and the script that replaces it."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import zlib
from html import escape
from pathlib import Path

import numpy as np

from blsnb.views.documents.buffer import Buffer
from blsnb.views.documents.wire import Header

CODE = Path(__file__).parent.parent / "static" / "view.min.js"
"""The view's JavaScript; ``view.js`` is its readable form."""

HOST = """(({ previousElementSibling: before, parentElement: all }) =>
    before?.matches(".blsnb-run") ? before : all.querySelector(".blsnb-run")
  )(document.currentScript)"""
"""JavaScript expression for a script's host element; VS Code runs a copy of the
script at the end of the output."""


def _short(script: str) -> str:
    """Return JavaScript without comments, and without spaces that mean nothing."""
    script = re.sub(r"\n +(//.*\n +)?", "\n", script)
    # A space before a quote stays: it shows where an embedded text begins.
    return re.sub(r" ?((?!= \")[=>+*<?:{},;&|]+) ?", r"\1", script)


_PREPARE = _short(f"""{{
  const host = {HOST};
  if (host) host.style.minHeight = host.dataset.height + "px";
  host?.querySelector(".blsnb-still")?.remove();
}}""")
"""Reserves the height of the view, so that the page does not move. Without scripts
there is neither a view nor a gap below the picture."""

AT_ONCE = _short(f"""
try {{
  const host = {HOST};
  globalThis[Symbol.for("blsnb")]?.get(host.dataset.run)?.mount(host);
}} catch (error) {{
  console.info("blsnb shows the picture first:", error);
}}
""")
"""Draws the view before the page is painted, if a live view left rows and code."""

# Claims the host before awaiting anything: a page may show a run twice, and each
# script has one host. If the page's policy allows only inline scripts, the code becomes
# one. After any failure the picture remains.
#
# Documents of a page share the code by key. A document without the code waits for one
# that contains it, regardless of their order.
_SCRIPT = _short("\n" + Path(__file__).with_name("host_script.txt").read_text("utf-8"))
_MISSING = (
    "This view needs the first run of its cell, which is not in this page: "
    "run the cell again."
)
_STILL = "Still picture; the interactive view needs a trusted notebook in Jupyter."
_FIRST_DIGIT = 33
"""Code of the digit 0 in Ascii85."""
_MOVED = rb"""\"&<"""
"""Letters of Ascii85 with a meaning in scripts or HTML; `v` to `y` replace them."""
_SAFE = bytes.maketrans(_MOVED, b"vwxy")
_PATIENCE_MS = 2000
"""Milliseconds after which a document without code shows a message."""
_LEVEL, _CODE_LEVEL = 6, 9
"""Levels of compression: of data, and of code, which is compressed once."""
_GZIP, _MEMORY = 31, 7
"""The format, and the use of memory with which the code is shortest."""


def hosted(
    run: str,
    picture: str,
    header: Header,
    buffer: Buffer,
    *,
    carries_code: bool = True,
    at_once: str = AT_ONCE,
    first: str = "",
) -> str:
    """Return a picture, and the script that replaces it by the view.

    Parameters
    ----------
    run
        Page id of the run.
    picture
        HTML for readers without scripts.
    carries_code
        Whether the code is embedded. Without it the picture becomes the view if
        another document of the page contains the same code.
    at_once
        A script that runs before the page is painted.
    first
        Statements before the view is decoded.
    """
    key, packed = _packed_code(_own_code())
    script = _SCRIPT % {
        "moved": ",".join(str(code - _FIRST_DIGIT) for code in _MOVED),
        "first": first,
        # Inside a script HTML only recognises the closing tag.
        "id": json.dumps(run).replace("<", "\\u003c"),
        "key": key,
        "code": packed if carries_code else "",
        "missing": _MISSING,
        "patience": _PATIENCE_MS,
        "header": _packed(json.dumps(header, separators=(",", ":")).encode()),
        "buffer": _packed(bytes(buffer)),
    }
    return (
        f'<div class="blsnb-run" data-run="{escape(run)}" '
        f'data-height="{int(header["ui"]["height"])}">{picture}'
        f'<p class="blsnb-still"><small>{_STILL}</small></p></div>'
        f"<script>{_PREPARE}{at_once}</script>"
        f'<script type="module">{script}</script>'
    )


@functools.cache
def _own_code() -> str:
    return CODE.read_text("utf-8")


def _packed(data: bytes, level: int = _LEVEL) -> str:
    """Return compressed bytes in a fourth more characters, for a string in a page."""
    # No timestamp, so that the same run results in the same notebook.
    packing = zlib.compressobj(level, wbits=_GZIP, memLevel=_MEMORY)
    return _ascii85(packing.compress(data) + packing.flush()).translate(_SAFE).decode()


def _ascii85(data: bytes) -> bytes:
    """Return bytes in Ascii85, without abbreviations."""
    missing = -len(data) % 4
    words = np.frombuffer(data + bytes(missing), ">u4").astype(np.uint32)
    digits = np.empty((len(words), 5), np.uint8)
    for place in range(4, -1, -1):
        digits[:, place] = words % 85 + _FIRST_DIGIT
        words //= 85
    return digits.tobytes()[: digits.size - missing]


@functools.lru_cache(maxsize=4)
def _packed_code(code: str) -> tuple[str, str]:
    """Return the key that identifies JavaScript in a page, and the packed code."""
    data = code.encode()
    return hashlib.sha256(data).hexdigest()[:16], _packed(data, _CODE_LEVEL)
