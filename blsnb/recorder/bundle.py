"""One file of the recorder: its parts, joined, for Python 3.8 and later."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import metadata

from blsnb.recorder.stub import (
    answers,
    bls_recorder,
    chunk_values,
    executions,
    frames,
    model_recorder,
    open_executions,
    owners,
    recording_files,
    settings,
    start,
    tensor_rows,
    trampolines,
)
from blsnb.trace.files.v2 import chunks

MODULE = "blsnb_recorder"
_PARTS = (
    settings,
    chunks,
    tensor_rows,
    executions,
    owners,
    frames,
    trampolines,
    chunk_values,
    recording_files,
    open_executions,
    answers,
    bls_recorder,
    model_recorder,
    start,
)
"""The parts, each after those that it imports."""
_HEAD = '''\
"""Records the executions of Triton models: written by `blsnb recorder install`.

It does nothing unless the environment variable BLSNB_RECORD names a folder.
"""

from __future__ import annotations
'''


def bundle() -> str:
    """Return the source of the one file."""
    parts = [_own_lines(inspect.getsource(part)) for part in _PARTS]
    text = "\n\n".join([_HEAD, *parts])
    return re.sub(
        r'^RELEASE = "development"$',
        f'RELEASE = "{metadata.version("blsnb")}"',
        text,
        flags=re.M,
    )


def _own_lines(source: str) -> str:
    """Return a part without its docstring and imports of other parts."""
    lines = source.splitlines()
    dropped: set[int] = set()
    for node in ast.walk(tree := ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and _is_internal(node.module):
            dropped.update(range(node.lineno, (node.end_lineno or 0) + 1))
    docstring = tree.body[0]
    dropped.update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    kept = [line for number, line in enumerate(lines, 1) if number not in dropped]
    # A block for type checkers may have lost all its imports.
    text = re.sub(
        r"^if TYPE_CHECKING:\n(?=\s*^\S)", "", "\n".join(kept) + "\n", flags=re.M
    )
    return text.strip() + "\n"


def _is_internal(module: str | None) -> bool:
    return module == "__future__" or (module or "").startswith("blsnb")
