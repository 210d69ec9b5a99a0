"""Install a real Triton server, in an environment of its own.

``python -m blsnb.parity.install`` does it once, needs a package index for that, and
says at once that all is there when called again. Packages that models import are
added if they are named: ``python -m blsnb.parity.install scikit-learn``.
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
# The 24.10 model process dies when NumPy 2 is imported.
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
    """The server cannot run on a machine; the text says why."""


def install(say: Callable[[str], None] = lambda _: None) -> TritonEnv:
    """Return the server in an environment of its own, made first if it is not there.

    Parameters
    ----------
    say
        Told what is being done.

    Raises
    ------
    CannotInstallError
        The machine does not fit, or a command failed.
    """
    env = installed()
    if env is not None and env.package == PACKAGE:
        return env
    check_machine()
    python, library = find_python()
    make_room(home())
    own_python = make_venv(python, say)
    env = lay_out(package_of(own_python), own_python, library, home())
    env.save()
    return env


def make_room(folder: Path) -> None:
    """Make a folder anew, if it is one that an installation has begun.

    Raises
    ------
    CannotInstallError
        Somebody else's files are in it.
    """
    there = {each.name for each in folder.iterdir()} if folder.exists() else set()
    if there and not there & {MARK, STAMP}:
        raise CannotInstallError(
            f"{folder} holds other files; name an empty folder by {HOME}"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(
        "Made by blsnb, which replaces this folder when need be.\n"
    )


def check_machine() -> None:
    """Refuse machines for which no server is published."""
    system = f"{platform.system()} {platform.machine()}"
    if system != "Linux x86_64":
        raise CannotInstallError(f"it needs Linux x86_64, this is {system}")
    name, version = platform.libc_ver()
    if name != "glibc" or tuple(map(int, version.split("."))) < GLIBC:
        raise CannotInstallError(
            f"it needs glibc 2.35 or later, this is {name or 'no glibc'} {version}"
        )


def find_python() -> tuple[str, str]:
    """Return an interpreter that the server can embed, and its shared library."""
    refused = []
    for candidate in candidates():
        facts = describe(candidate)
        reason = why_not(facts)
        if not reason:
            return facts["executable"], facts["library"]
        refused.append(f"  {candidate}: {reason}")
    tried = "\n".join(refused) or "  none found"
    raise CannotInstallError(
        "it needs CPython 3.11 or 3.12 with venv and a shared library "
        f"(on Debian and Ubuntu: python3.11-venv and libpython3.11). Tried:\n{tried}"
    )


def candidates() -> Iterator[str]:
    """Name the interpreters of this machine, the running one first."""
    seen = set()
    places = [sys.base_prefix + "/bin", *os.get_exec_path(), "/usr/bin"]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    places += [str(p) for p in sorted(pyenv.glob("versions/3.1[12]*/bin"))]
    names = [f"python{major}.{minor}" for major, minor in PYTHONS]
    for place in places:
        for name in [*names, "python3"]:
            path = Path(place, name)
            if path.exists() and path.resolve() not in seen:
                seen.add(path.resolve())
                yield str(path)


def describe(python: str) -> dict[str, Any]:
    """Ask an interpreter about itself; a failure is an empty answer with a reason."""
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


def why_not(facts: dict[str, Any]) -> str:
    """Return why an interpreter does not fit, or an empty text if it does."""
    if "failure" in facts:
        return str(facts["failure"])
    if facts["implementation"] != "CPython":
        return f"is {facts['implementation']}"
    if tuple(facts["version"]) not in PYTHONS:
        return "is Python {}.{}".format(*facts["version"])
    return "" if facts["library"] else "has no shared libpython"


def make_venv(python: str, say: Callable[[str], None]) -> Path:
    """Make the environment of the model processes, with the server's package."""
    say(f"makes an environment in {home()}")
    run([python, "-m", "venv", str(home() / "venv")])
    own = home() / "venv" / "bin" / "python"
    pip = [str(own), "-m", "pip", "install", "--quiet"]
    run([*pip, NUMPY])
    say(f"downloads and installs {PACKAGE}")
    # Its dependencies serve pytriton's own Python layer, which nobody calls here.
    run([*pip, "--no-deps", PACKAGE])
    return own


def package_of(python: Path) -> Path:
    """Return where the server's files lie among an interpreter's packages."""
    ask = "import sysconfig, sys; print(sysconfig.get_path('purelib'))"
    done = subprocess.run([python, "-c", ask], capture_output=True, check=True)
    return Path(done.stdout.decode().strip(), "pytriton", "tritonserver")


def lay_out(package: Path, python: Path, library: str, folder: Path) -> TritonEnv:
    """Gather the Python backend's three files, as the server wants to find them.

    Parameters
    ----------
    package
        Where the server's files lie.
    folder
        Where to gather them.
    """
    backend = folder / "backends" / "python"
    shutil.copytree(package / "backends" / "python", backend)
    # The library looks for its own libraries relative to where it lies.
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
    """Return the program that runs models in a release of Python."""
    return (package / "python_backend_stubs" / version) / "triton_python_backend_stub"


def add(env: TritonEnv, packages: Sequence[str]) -> None:
    """Install packages that models import, beside a NumPy that the server can use.

    Parameters
    ----------
    packages
        Such as ``"scikit-learn==1.5.0"``; where there is no such version for this
        Python and NumPy, the newest that fits is taken.

    Raises
    ------
    CannotInstallError
        There is none.
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
    """Run a command; its last words become the reason when it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        words = (done.stderr or done.stdout).strip()[-2000:]
        raise CannotInstallError(f"{' '.join(command)} failed:\n{words}")


def main(packages: Sequence[str] = ()) -> int:
    """Install, say so, and fail only where a server is demanded."""
    try:
        env = install(lambda words: print(f"blsnb {words}", file=sys.stderr))
        if packages:
            add(env, packages)
    except CannotInstallError as error:
        print(f"no real Triton server on this machine: {error}", file=sys.stderr)
        return int(bool(packages) or os.environ.get("BLSNB_REQUIRE_TRITON") == "1")
    print(f"real Triton server: {env.server}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
