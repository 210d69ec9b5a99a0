"""An installed real Triton server, and the environment to run it in."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

HOME = "BLSNB_TRITON"
"""Environment variable: folder of a server in an environment of its own."""
HIDE = "BLSNB_HIDE_TRITON"
"""Environment variable: if set, that server is ignored."""
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
        Folder of its backends; empty to use the server's default.
    python
        The interpreter whose packages the models import.
    python_library
        The shared library of that interpreter. If empty, the server finds it itself
        and uses the first ``python3`` on PATH.
    package
        Its source, such as ``"nvidia-pytriton==0.7.0"``.
    """

    server: str
    backends: str
    python: str
    python_library: str
    package: str

    @property
    def usable(self) -> bool:
        """Whether all files of the installation still exist."""
        parts = (self.server, self.backends, self.python, self.python_library)
        return all(Path(part).exists() for part in parts)

    @property
    def caches(self) -> Path:
        """The folder of its response cache implementations."""
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
        # The model process imports packages of the first python3 on PATH.
        variables["PATH"] = os.pathsep.join(
            [str(Path(self.python).parent), os.environ.get("PATH", "")]
        )
        variables["LD_LIBRARY_PATH"] = str(Path(self.python_library).parent)
        return variables

    def save(self) -> None:
        """Record that this installation is complete."""
        (home() / STAMP).write_text(json.dumps(asdict(self), indent=1))


def home() -> Path:
    """Return the folder of a server in an environment of its own.

    It is ``$BLSNB_TRITON``, else ``.triton`` of a checkout, else in the user's cache.
    """
    if given := os.environ.get(HOME):
        return Path(given).expanduser()
    if (_CHECKOUT / "pyproject.toml").is_file():
        return _CHECKOUT / ".triton"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "blsnb", "triton")


def installed() -> TritonEnv | None:
    """Return the server installed there, or None."""
    stamp = home() / STAMP
    if HIDE in os.environ or not stamp.exists():
        return None
    env = TritonEnv(**json.loads(stamp.read_text()))
    return env if env.usable else None
