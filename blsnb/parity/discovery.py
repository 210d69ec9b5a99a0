"""Which real server runs here: one on PATH, one of this environment, one of its own."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path

from blsnb.errors import TritonServerError
from blsnb.parity.install import describe, lay_out, stub_of
from blsnb.parity.triton.environment import TritonEnv, installed

PROGRAM = "tritonserver"
_PACKAGE = "nvidia-pytriton"
_NUMPY = "numpy 2 is here, and a model process of the server dies of it"


def install_command() -> str:
    """Return the command that installs a server in an environment of its own."""
    return f"{shlex.quote(sys.executable)} -m blsnb.parity.install"


def find(folder: Path) -> TritonEnv:
    """Return the real server to run.

    Parameters
    ----------
    folder
        An empty one, where its backends can be gathered.

    Raises
    ------
    TritonServerError
        There is none; the text says how to get one.
    """
    reasons = [f"no {PROGRAM} is on PATH"]
    if (on_path := shutil.which(PROGRAM)) is not None:
        return _on_path(on_path)
    package = _package_here()
    reason = f"{_PACKAGE} is not installed here"
    if package is not None and not (reason := _why_not(package)):
        library = describe(sys.executable)["library"]
        return lay_out(package, Path(sys.executable), library, folder)
    if (own := installed()) is not None:
        return own
    reasons.append(reason)
    raise TritonServerError(
        f"there is no real Triton server to compare with: {', '.join(reasons)}, and "
        "none was installed in an environment of its own",
        advice="This installs one (250 MB, once):\n"
        f"    {install_command()}\nSo does %triton verify ... --install.",
    )


def _on_path(server: str) -> TritonEnv:
    backends = Path(server).resolve().parents[1] / "backends"
    python = shutil.which("python3") or sys.executable
    # Who installed it there knows how it runs.
    found = str(backends) if backends.is_dir() else ""
    return TritonEnv(server, found, python, "", f"{server} on PATH")


def _package_here() -> Path | None:
    spec = importlib.util.find_spec("pytriton")
    for folder in (spec and spec.submodule_search_locations) or ():
        package = Path(folder, "tritonserver")
        if (package / "bin" / PROGRAM).is_file():
            return package
    return None


def _why_not(package: Path) -> str:
    """Return why the server of this environment cannot run; nothing if it can."""
    version = ".".join(map(str, sys.version_info[:2]))
    if int(metadata.version("numpy").partition(".")[0]) >= 2:
        return f"{_PACKAGE} is here, but {_NUMPY}"
    if not stub_of(package, version).is_file():
        return f"{_PACKAGE} is here, but not for Python {version}"
    if not describe(sys.executable).get("library"):
        return f"{_PACKAGE} is here, but this Python has no shared library"
    return ""
