"""Discovery of a real server: PATH, this environment, an environment of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from blsnb.errors import TritonServerError
from blsnb.parity import discovery, install
from blsnb.parity.discovery import find
from blsnb.parity.install import PACKAGE
from blsnb.parity.triton.environment import HIDE, HOME, TritonEnv

PACKAGE_HERE = discovery._find_package
VERSION = ".".join(map(str, sys.version_info[:2]))


@pytest.fixture(autouse=True)
def bare(tmp_path, monkeypatch):
    """Hide every installed server."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv(HOME, str(tmp_path / "home"))
    monkeypatch.delenv(HIDE, raising=False)
    monkeypatch.setattr(discovery, "_find_package", lambda: None)


def program(path: Path) -> Path:
    """Write an executable file."""
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The server's package in this environment, with NumPy 1."""
    folder = tmp_path / "tritonserver"
    program(folder / "bin" / "tritonserver")
    program(folder / "python_backend_stubs" / VERSION / "triton_python_backend_stub")
    program(folder / "backends" / "python" / "libtriton_python.so")
    monkeypatch.setattr(discovery, "_find_package", lambda: folder)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.26.4")
    facts = {"library": f"/lib/libpython{VERSION}.so.1.0"}
    monkeypatch.setattr(discovery, "describe", lambda python: facts)
    return folder


def own(tmp_path: Path) -> TritonEnv:
    """Create a server in an environment of its own."""
    parts = [tmp_path / "home" / name for name in ("server", "backends", "python")]
    library = tmp_path / "home" / "libpython3.11.so.1.0"
    library.parent.mkdir()
    for part in (*parts, library):
        part.touch()
    env = TritonEnv(*map(str, parts), str(library), PACKAGE)
    env.save()
    return env


def test_a_server_on_path_comes_first(tmp_path, package):
    """It runs with its own backends and environment variables."""
    own(tmp_path)
    server = program(tmp_path / "opt" / "bin" / "tritonserver")
    (tmp_path / "opt" / "backends").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tritonserver").symlink_to(server)
    env = find(tmp_path / "laid")
    found = str(tmp_path / "bin" / "tritonserver")

    assert (
        TritonEnv(
            found,
            str(tmp_path / "opt" / "backends"),
            sys.executable,
            "",
            f"{found} on PATH",
        )
        == env
    )
    assert {**os.environ, "PYTHONUNBUFFERED": "1"} == env.variables()

    (tmp_path / "opt" / "backends").rmdir()
    python = tmp_path / "bin" / "python3"
    python.touch(0o755)
    again = find(tmp_path / "laid")
    assert ("", str(python)) == (again.backends, again.python)


def test_the_package_of_this_environment_comes_second(tmp_path, package):
    """Its Python backend's files are gathered for this Python; programs may run."""
    own(tmp_path)
    programs = package / "bin" / "tritonserver", install.stub_of(package, VERSION)
    programs[1].chmod(0o600)
    env = find(tmp_path / "laid")

    backends = str(tmp_path / "laid" / "backends")
    library = f"/lib/libpython{VERSION}.so.1.0"
    expected = TritonEnv(str(programs[0]), backends, sys.executable, library, PACKAGE)
    assert expected == env
    assert VERSION == env.python_version
    assert [0o755, 0o755] == [each.stat().st_mode & 0o777 for each in programs]
    laid = tmp_path / "laid" / "backends" / "python"
    assert ["libtriton_python.so", "triton_python_backend_stub"] == sorted(
        each.name for each in laid.iterdir()
    )
    assert package in (laid / "libtriton_python.so").resolve().parents


def test_a_server_in_an_environment_of_its_own_comes_last(tmp_path):
    """It was installed earlier."""
    assert own(tmp_path) == find(tmp_path / "laid")


@pytest.mark.parametrize(
    ("hurdle", "reason"),
    [
        (
            "numpy",
            "is installed here, but its model processes crash with the installed "
            "NumPy 2",
        ),
        ("absent", "is not installed here"),
        ("stub", f"is installed here, but not for Python {VERSION}"),
        ("library", "is installed here, but this Python has no shared library"),
    ],
)
def test_a_package_that_cannot_run_is_skipped(
    tmp_path, package, monkeypatch, hurdle, reason
):
    """The error contains the reason, if no other server is found."""
    match hurdle:
        case "numpy":
            monkeypatch.setattr("importlib.metadata.version", lambda name: "2.1.0")
        case "stub":
            install.stub_of(package, VERSION).unlink()
        case "library":
            monkeypatch.setattr(discovery, "describe", lambda python: {"failure": "no"})
        case "absent":
            monkeypatch.setattr(discovery, "_find_package", lambda: None)
    with pytest.raises(TritonServerError) as refused:
        find(tmp_path / "laid")

    assert (
        "there is no real Triton server to compare with: no tritonserver is on PATH, "
        f"nvidia-pytriton {reason}, and none is installed in an environment of its own"
    ) == refused.value.message
    assert (
        "Install one (250 MB, once) with\n"
        f"    {sys.executable} -m blsnb.parity.install\n"
        "or with %triton verify ... --install."
    ) == refused.value.advice
    assert own(tmp_path) == find(tmp_path / "laid")


@pytest.mark.parametrize("is_complete", [True, False])
def test_the_package_of_this_environment_has_a_program(
    tmp_path, monkeypatch, is_complete
):
    """A package without the program of the server is ignored."""
    folder = tmp_path / "site" / "pytriton"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    if is_complete:
        program(folder / "tritonserver" / "bin" / "tritonserver")
    monkeypatch.delitem(sys.modules, "pytriton", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])

    assert (folder / "tritonserver" if is_complete else None) == PACKAGE_HERE()
