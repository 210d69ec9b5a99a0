"""TritonEnv: a real Triton server that was installed, and how to call it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

HOME = "BLSNB_TRITON"
"""Names the folder in which a server of its own lies, or will lie."""
HIDE = "BLSNB_HIDE_TRITON"
"""Set in runs that must do without it."""
STAMP = "environment.json"
_CHECKOUT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class TritonEnv:
    """An installed server and the Python environment of its model processes.

    Parameters
    ----------
    server
        The program.
    backends
        Folder of its backends; empty where it knows itself.
    python
        The interpreter whose packages the models import.
    python_library
        The shared library of that interpreter; empty where the server needs no help
        to find it, and takes its models' packages from the first ``python3`` on PATH.
    package
        What it came with.
    """

    server: str
    backends: str
    python: str
    python_library: str
    package: str

    @property
    def usable(self) -> bool:
        """True while everything that the installation made is still in place."""
        parts = (self.server, self.backends, self.python, self.python_library)
        return all(Path(part).exists() for part in parts)

    @property
    def caches(self) -> Path:
        """The folder of its response caches, where it lies beside the program."""
        return Path(self.server).parents[1] / "caches"

    @property
    def python_version(self) -> str:
        """The Python release of the model processes, such as ``3.11``."""
        return Path(self.python_library).name.removeprefix("libpython").split(".so")[0]

    def variables(self) -> dict[str, str]:
        """Return the environment variables of the server process."""
        variables = {**os.environ, "PYTHONUNBUFFERED": "1"}
        if not self.python_library:
            return variables
        for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV"):
            variables.pop(name, None)
        # The model process takes its packages from the first python3 on PATH.
        variables["PATH"] = os.pathsep.join(
            [str(Path(self.python).parent), os.environ.get("PATH", "")]
        )
        variables["LD_LIBRARY_PATH"] = str(Path(self.python_library).parent)
        return variables

    def save(self) -> None:
        """Remember this installation as complete."""
        (home() / STAMP).write_text(json.dumps(asdict(self), indent=1))


def home() -> Path:
    """Return the folder of a server with an environment of its own.

    ``$BLSNB_TRITON``; else ``.triton`` of a checkout; else one in the user's cache.
    """
    if given := os.environ.get(HOME):
        return Path(given).expanduser()
    if (_CHECKOUT / "pyproject.toml").is_file():
        return _CHECKOUT / ".triton"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "blsnb", "triton")


def installed() -> TritonEnv | None:
    """Return the server that lies there, or None when there is none."""
    stamp = home() / STAMP
    if HIDE in os.environ or not stamp.exists():
        return None
    env = TritonEnv(**json.loads(stamp.read_text()))
    return env if env.usable else None
