"""Find a real server: on PATH, in this environment, or in one of its own."""

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
_NUMPY = "its model processes crash with the installed NumPy 2"


def install_command() -> str:
    """Return the command that installs a server in an environment of its own."""
    return f"{shlex.quote(sys.executable)} -m blsnb.parity.install"


def find(folder: Path) -> TritonEnv:
    """Return the real server to run.

    Parameters
    ----------
    folder
        An empty folder in which its backends can be gathered.

    Raises
    ------
    TritonServerError
        No server was found; the text names the command that installs one.
    """
    if (on_path := shutil.which(PROGRAM)) is not None:
        return _on_path(on_path)
    package = _find_package()
    reason = f"{_PACKAGE} is not installed here"
    if package is not None and not (reason := _obstacle(package)):
        library = describe(sys.executable)["library"]
        return lay_out(package, Path(sys.executable), library, folder)
    if (own := installed()) is not None:
        return own
    raise TritonServerError(
        f"there is no real Triton server to compare with: no {PROGRAM} is on PATH, "
        f"{reason}, and none is installed in an environment of its own",
        advice="Install one (250 MB, once) with\n"
        f"    {install_command()}\nor with %triton verify ... --install.",
    )


def _on_path(server: str) -> TritonEnv:
    backends = Path(server).resolve().parents[1] / "backends"
    python = shutil.which("python3") or sys.executable
    # An installation on PATH knows its own libraries.
    found = str(backends) if backends.is_dir() else ""
    return TritonEnv(server, found, python, "", f"{server} on PATH")


def _find_package() -> Path | None:
    spec = importlib.util.find_spec("pytriton")
    for folder in (spec and spec.submodule_search_locations) or ():
        package = Path(folder, "tritonserver")
        if (package / "bin" / PROGRAM).is_file():
            return package
    return None


def _obstacle(package: Path) -> str:
    """Return why the server of this environment cannot run; empty if it can."""
    version = ".".join(map(str, sys.version_info[:2]))
    if int(metadata.version("numpy").partition(".")[0]) >= 2:
        return f"{_PACKAGE} is installed here, but {_NUMPY}"
    if not stub_of(package, version).is_file():
        return f"{_PACKAGE} is installed here, but not for Python {version}"
    if not describe(sys.executable).get("library"):
        return f"{_PACKAGE} is installed here, but this Python has no shared library"
    return ""
