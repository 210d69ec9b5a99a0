"""Install a real Triton server in an environment of its own.

``python -m blsnb.parity.install`` downloads it once from the package index; a second
call finds it. It also installs packages that models import:
``python -m blsnb.parity.install scikit-learn``.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from blsnb.errors import TritonServerError
from blsnb.parity.triton.environment import HOME, STAMP, TritonEnv, home, installed

PACKAGE = "nvidia-pytriton==0.7.0"
# The model process of 24.10 crashes when it imports NumPy 2.
NUMPY = "numpy<2"
GLIBC = (2, 35)
PYTHONS = ((3, 11), (3, 12))
MARK = "made-by-blsnb.txt"

DESCRIBE = """
import ensurepip, json, pathlib, platform, sys, sysconfig, venv
name = sysconfig.get_config_var("INSTSONAME") or ""
folders = [sysconfig.get_config_var("LIBDIR") or "", sys.base_prefix + "/lib"]
found = [p for f in folders if (p := pathlib.Path(f, name)).is_file()]
print(json.dumps({
    "executable": str(pathlib.Path(getattr(sys, "_base_executable", sys.executable))),
    "implementation": platform.python_implementation(),
    "version": list(sys.version_info[:2]),
    "library": str(found[0]) if found and ".so" in name else "",
}))
"""


class CannotInstallError(TritonServerError):
    """The server cannot be installed on this machine; the text says why."""


def install(report: Callable[[str], None] = lambda _: None) -> TritonEnv:
    """Return the server of an environment of its own, installed first if necessary.

    Parameters
    ----------
    report
        Receives a description of each step.

    Raises
    ------
    CannotInstallError
        The server does not run on this machine, or a command failed.
    """
    env = installed()
    if env is not None and env.package == PACKAGE:
        return env
    check_machine()
    python, library = find_python()
    clear(home())
    own_python = make_venv(python, report)
    env = lay_out(package_of(own_python), own_python, library, home())
    env.save()
    return env


def clear(folder: Path) -> None:
    """Replace the folder of an earlier installation by an empty one."""
    names = {each.name for each in folder.iterdir()} if folder.exists() else set()
    if names and not names & {MARK, STAMP}:
        raise CannotInstallError(
            f"{folder} contains other files; set {HOME} to an empty folder"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text("Created by blsnb, which may replace this folder.\n")


def check_machine() -> None:
    """Raise `CannotInstallError` on a machine for which no server is published."""
    system = f"{platform.system()} {platform.machine()}"
    if system != "Linux x86_64":
        raise CannotInstallError(f"it needs Linux x86_64; this is {system}")
    name, version = platform.libc_ver()
    if name != "glibc" or tuple(map(int, version.split("."))) < GLIBC:
        raise CannotInstallError(
            f"it needs glibc 2.35 or later; this is {name or 'not glibc'} {version}"
        )


def find_python() -> tuple[str, str]:
    """Return an interpreter that the server can embed, and its shared library."""
    rejected = []
    for candidate in candidates():
        facts = describe(candidate)
        reason = obstacle(facts)
        if not reason:
            return facts["executable"], facts["library"]
        rejected.append(f"  {candidate}: {reason}")
    tried = "\n".join(rejected) or "  none found"
    raise CannotInstallError(
        "it needs CPython 3.11 or 3.12 with venv and a shared library "
        f"(on Debian and Ubuntu: python3.11-venv and libpython3.11). Tried:\n{tried}"
    )


def candidates() -> Iterator[str]:
    """Yield the interpreters of this machine, the running one first."""
    seen = set()
    folders = [sys.base_prefix + "/bin", *os.get_exec_path(), "/usr/bin"]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders += [str(p) for p in sorted(pyenv.glob("versions/3.1[12]*/bin"))]
    names = [f"python{major}.{minor}" for major, minor in PYTHONS]
    for folder in folders:
        for name in [*names, "python3"]:
            path = Path(folder, name)
            if path.exists() and path.resolve() not in seen:
                seen.add(path.resolve())
                yield str(path)


def describe(python: str) -> dict[str, Any]:
    """Return the facts that an interpreter prints of itself, or its ``failure``."""
    try:
        done = subprocess.run(
            [python, "-c", DESCRIBE], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"failure": str(error)}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it does not start"]
        return {"failure": lines[-1]}
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def obstacle(facts: dict[str, Any]) -> str:
    """Return why the server cannot embed an interpreter; empty if it can."""
    if "failure" in facts:
        return str(facts["failure"])
    if facts["implementation"] != "CPython":
        return f"is {facts['implementation']}"
    if tuple(facts["version"]) not in PYTHONS:
        return "is Python {}.{}".format(*facts["version"])
    return "" if facts["library"] else "has no shared libpython"


def make_venv(python: str, report: Callable[[str], None]) -> Path:
    """Create the environment of the model processes, with the server's package."""
    report(f"create an environment in {home()}")
    run([python, "-m", "venv", str(home() / "venv")])
    own = home() / "venv" / "bin" / "python"
    pip = [str(own), "-m", "pip", "install", "--quiet"]
    run([*pip, NUMPY])
    report(f"download and install {PACKAGE}")
    # Its dependencies are those of pytriton's Python layer, which is not used.
    run([*pip, "--no-deps", PACKAGE])
    return own


def package_of(python: Path) -> Path:
    """Return the folder of the server's files among an environment's packages."""
    [packages] = python.parents[1].glob("lib/python*/site-packages")
    return packages / "pytriton" / "tritonserver"


def lay_out(package: Path, python: Path, library: str, folder: Path) -> TritonEnv:
    """Gather the Python backend's three files in the layout that the server expects."""
    backend = folder / "backends" / "python"
    shutil.copytree(package / "backends" / "python", backend)
    # The library finds its own libraries relative to its real path.
    (backend / "libtriton_python.so").unlink()
    (backend / "libtriton_python.so").symlink_to(
        package / "backends" / "python" / "libtriton_python.so"
    )
    env = TritonEnv(
        server=str(package / "bin" / "tritonserver"),
        backends=str(backend.parent),
        python=str(python),
        python_library=library,
        package=PACKAGE,
    )
    stub = stub_of(package, env.python_version)
    (backend / stub.name).symlink_to(stub)
    for program in (stub, Path(env.server)):
        if not os.access(program, os.X_OK):
            program.chmod(0o755)
    return env


def stub_of(package: Path, version: str) -> Path:
    """Return the program that runs models in a Python version such as ``3.11``."""
    return (package / "python_backend_stubs" / version) / "triton_python_backend_stub"


def add(env: TritonEnv, packages: Sequence[str]) -> None:
    """Install packages that models import, and keep NumPy below 2.

    Parameters
    ----------
    packages
        Such as ``"scikit-learn==1.5.0"``. If that version does not exist for the
        server's Python and NumPy, the newest one that does is installed.

    Raises
    ------
    CannotInstallError
        pip fails.
    """
    pip = [env.python, "-m", "pip", "install", "--quiet", NUMPY]
    for package in packages:
        try:
            run([*pip, package])
        except CannotInstallError:
            name, exact, _ = package.partition("==")
            if not exact:
                raise
            run([*pip, name])


def run(command: list[str]) -> None:
    """Run a command; raise its output as a `CannotInstallError` if it fails."""
    # pip itself gives up when a package index sends nothing.
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        output = (done.stderr or done.stdout).strip()[-2000:]
        raise CannotInstallError(f"{' '.join(command)} failed:\n{output}")


def main(packages: Sequence[str] = ()) -> int:
    """Install; fail only if a package was named, or ``BLSNB_REQUIRE_TRITON=1``."""
    try:
        env = install(lambda step: print(f"blsnb: {step}", file=sys.stderr))
        if packages:
            add(env, packages)
    except CannotInstallError as error:
        print(f"no real Triton server on this machine: {error}", file=sys.stderr)
        return int(bool(packages) or os.environ.get("BLSNB_REQUIRE_TRITON") == "1")
    print(f"real Triton server: {env.server}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
