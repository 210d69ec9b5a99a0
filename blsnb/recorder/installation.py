"""The recorder's two files in the environment of a server's models."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from blsnb.arguments import path_of
from blsnb.errors import BlsnbError
from blsnb.files.whole import whole_file
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
        if not isinstance(node, ast.ImportFrom):
            continue
        if (node.module or "").startswith(("__future__", "blsnb")):
            dropped.update(range(node.lineno, (node.end_lineno or 0) + 1))
    docstring = tree.body[0]
    dropped.update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    kept = [line for number, line in enumerate(lines, 1) if number not in dropped]
    # A block for type checkers may have lost all its imports.
    text = re.sub(
        r"^if TYPE_CHECKING:\n(?=\s*^\S)", "", "\n".join(kept) + "\n", flags=re.M
    )
    return text.strip() + "\n"


_OLDEST = (3, 8)
_NEWEST = (3, 13)
_WAIT_S = 60
_FACTS = (
    "import json, sys, sysconfig; "
    "print(json.dumps([sysconfig.get_path('purelib'), list(sys.version_info[:2])]))"
)
_START = f"""\
import os, sys; exec("import {MODULE}; {MODULE}.start()") \
if os.environ.get("BLSNB_RECORD") \
and "c_python_backend_utils" in sys.builtin_module_names else None
"""


class RecorderError(BlsnbError):
    """The recorder cannot be installed in an environment."""


class RecorderFiles(NamedTuple):
    """The two files of the recorder in one environment."""

    module: Path
    pth: Path
    python_version: tuple[int, int]

    @property
    def exist(self) -> bool:
        """Whether at least one of them is there."""
        return self.module.exists() or self.pth.exists()

    @property
    def are_current(self) -> bool:
        """Whether both are those of this release."""
        return _text(self.module) == bundle() and _text(self.pth) == _START

    def install(self) -> None:
        """Write both, the module first.

        Raises
        ------
        RecorderError
            The environment's Python is not supported.
        OSError
            They cannot be written.
        """
        if not _OLDEST <= self.python_version <= _NEWEST:
            found = ".".join(map(str, self.python_version))
            raise RecorderError(
                f"the environment has Python {found}; the recorder needs 3.8 to 3.13"
            )
        for path, text in ((self.module, bundle()), (self.pth, _START)):
            with whole_file(path) as partial:
                partial.write_text(text, encoding="utf-8")

    def uninstall(self) -> None:
        """Remove both, the ``.pth`` file first."""
        self.pth.unlink(missing_ok=True)
        self.module.unlink(missing_ok=True)


def recorder_files(environment: str | Path) -> RecorderFiles:
    """Return where the recorder's files belong.

    Parameters
    ----------
    environment
        A Python interpreter, or the folder of its environment.

    Raises
    ------
    RecorderError
        There is no Python, or it does not run.
    """
    python = _interpreter(path_of(environment=environment))
    try:
        done = subprocess.run(
            [python, "-I", "-c", _FACTS],
            capture_output=True,
            check=True,
            text=True,
            timeout=_WAIT_S,
        )
        folder, (major, minor) = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise RecorderError(f"{python} does not run: {error}") from None
    place = Path(folder)
    return RecorderFiles(
        place / f"{MODULE}.py", place / f"{MODULE}.pth", (major, minor)
    )


def _interpreter(environment: Path) -> Path:
    if environment.is_file():
        return environment
    for name in ("python3", "python"):
        if (environment / "bin" / name).is_file():
            return environment / "bin" / name
    raise RecorderError(
        f"{environment} is not a Python environment; expected an interpreter, such as "
        "/opt/models/bin/python, or the folder of an environment"
    )


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
