"""Runs of the imitated stub with the one file of the recorder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blsnb.recorder.installation import MODULE, bundle

HERE = Path(__file__).parent
WAIT_S = 120
VERSIONS = tuple(f"3.{minor}" for minor in range(8, 14))


def write_recorder(folder: Path) -> Path:
    """Write the one file of the recorder, and return its path."""
    path = folder / f"{MODULE}.py"
    path.write_text(bundle())
    return path


def run_stub(
    recorder: Path,
    *arguments: str,
    folder: Path | None = None,
    settings: Mapping[str, str] = {},
    python: str = sys.executable,
    program: str = "fake_stub.py",
    status: int = 0,
) -> tuple[Any, str]:
    """Return what a run of the imitated stub prints, as a value, and its stderr."""
    environ = {name: value for name, value in os.environ.items() if "BLSNB" not in name}
    if folder is not None:
        environ["BLSNB_RECORD"] = str(folder)
    for name, value in settings.items():
        environ[f"BLSNB_RECORDER_{name}"] = value
    done = subprocess.run(
        [python, "-B", HERE / program, recorder, *arguments],
        capture_output=True,
        env=environ,
        text=True,
        timeout=WAIT_S,
    )
    assert (status, True) == (done.returncode, done.stdout.endswith("\n")), done.stderr
    return json.loads(done.stdout), done.stderr


def interpreter(version: str) -> str | None:
    """Return an installed interpreter of a version, or None."""
    return next(filter(_runs, [f"python{version}", *_of_pyenv(version)]), None)


def _of_pyenv(version: str) -> list[str]:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = root.glob(f"versions/{version}.*/bin/python")
    return [str(path) for path in sorted(folders)]


def _runs(python: str) -> bool:
    try:
        done = subprocess.run(
            [python, "-c", "import sys; print(sys.version_info[:2])"],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
    except OSError:
        return False
    return re.match(r"\(3, \d+\)", done.stdout) is not None
