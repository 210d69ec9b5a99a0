"""Where the real Triton server of this checkout lies, and how to call it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

HOME = Path(__file__).parents[2] / ".triton"
STAMP = HOME / "environment.json"
HIDE = "BLSNB_HIDE_TRITON"
"""Set in runs that must do with the recorded answers."""


@dataclass(frozen=True, slots=True)
class TritonEnv:
    """An installed server and the Python environment of its model processes."""

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
    def python_version(self) -> str:
        """The Python release of the model processes, such as ``3.11``."""
        return Path(self.python_library).name.removeprefix("libpython").split(".so")[0]

    def variables(self) -> dict[str, str]:
        """Return the environment variables of the server process."""
        variables = dict(os.environ)
        for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV"):
            variables.pop(name, None)
        # The model process takes its packages from the first python3 on PATH.
        variables["PATH"] = os.pathsep.join(
            [str(Path(self.python).parent), os.environ.get("PATH", "")]
        )
        variables["LD_LIBRARY_PATH"] = str(Path(self.python_library).parent)
        variables["PYTHONUNBUFFERED"] = "1"
        return variables

    def save(self) -> None:
        """Remember this installation as complete."""
        STAMP.write_text(json.dumps(asdict(self), indent=1))


def installed() -> TritonEnv | None:
    """Return the installation of this checkout, or None when there is none."""
    if HIDE in os.environ or not STAMP.exists():
        return None
    env = TritonEnv(**json.loads(STAMP.read_text()))
    return env if env.usable else None
