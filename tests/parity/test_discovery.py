"""The real server that runs here: on PATH, of this environment, or one of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from blsnb.errors import TritonServerError
from blsnb.parity import discovery as finding
from blsnb.parity import install
from blsnb.parity.discovery import find
from blsnb.parity.install import PACKAGE
from blsnb.parity.triton.environment import HIDE, HOME, TritonEnv

VERSION = ".".join(map(str, sys.version_info[:2]))


@pytest.fixture(autouse=True)
def bare(tmp_path, monkeypatch):
    """Nothing is found unless a test puts it there."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv(HOME, str(tmp_path / "home"))
    monkeypatch.delenv(HIDE, raising=False)
    monkeypatch.setattr(finding, "_package_here", lambda: None)


def program(path: Path) -> Path:
    """Write a program."""
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Put the server's package into this environment, with a NumPy that it can use."""
    folder = tmp_path / "tritonserver"
    program(folder / "bin" / "tritonserver")
    program(folder / "python_backend_stubs" / VERSION / "triton_python_backend_stub")
    program(folder / "backends" / "python" / "libtriton_python.so")
    monkeypatch.setattr(finding, "_package_here", lambda: folder)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.26.4")
    facts = {"library": f"/lib/libpython{VERSION}.so.1.0"}
    monkeypatch.setattr(finding, "describe", lambda python: facts)
    return folder


def own(tmp_path: Path) -> TritonEnv:
    """Put a server into an environment of its own."""
    parts = [tmp_path / "home" / name for name in ("server", "backends", "python")]
    library = tmp_path / "home" / "libpython3.11.so.1.0"
    library.parent.mkdir()
    for part in (*parts, library):
        part.touch()
    env = TritonEnv(*map(str, parts), str(library), PACKAGE)
    env.save()
    return env


def test_one_on_path_comes_first(tmp_path, package):
    """As whoever installed it there wants it to run: with its own backends."""
    own(tmp_path)
    server = program(tmp_path / "opt" / "bin" / "tritonserver")
    (tmp_path / "opt" / "backends").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tritonserver").symlink_to(server)
    env = find(tmp_path / "laid")

    assert str(tmp_path / "bin" / "tritonserver") == env.server
    assert str(tmp_path / "opt" / "backends") == env.backends
    assert {**os.environ, "PYTHONUNBUFFERED": "1"} == env.variables()


def test_then_the_package_of_this_environment(tmp_path, package):
    """Its backend's three files are gathered for this Python."""
    own(tmp_path)
    env = find(tmp_path / "laid")

    assert str(package / "bin" / "tritonserver") == env.server
    assert (sys.executable, VERSION) == (env.python, env.python_version)
    laid = tmp_path / "laid" / "backends" / "python"
    assert ["libtriton_python.so", "triton_python_backend_stub"] == sorted(
        each.name for each in laid.iterdir()
    )
    assert package in (laid / "libtriton_python.so").resolve().parents


def test_then_one_of_its_own(tmp_path):
    """Made earlier."""
    assert own(tmp_path) == find(tmp_path / "laid")


@pytest.mark.parametrize(
    ("hurdle", "reason"),
    [
        ("numpy", "is here, but numpy 2 is here, and a model process of the server"),
        ("stub", f"is here, but not for Python {VERSION}"),
        ("library", "is here, but this Python has no shared library"),
    ],
)
def test_a_package_that_cannot_run_here_says_why(
    tmp_path, package, monkeypatch, hurdle, reason
):
    """One of its own runs instead, if there is one."""
    match hurdle:
        case "numpy":
            monkeypatch.setattr("importlib.metadata.version", lambda name: "2.1.0")
        case "stub":
            install.stub_of(package, VERSION).unlink()
        case "library":
            monkeypatch.setattr(finding, "describe", lambda python: {"failure": "no"})
    with pytest.raises(TritonServerError) as refused:
        find(tmp_path / "laid")

    assert f"nvidia-pytriton {reason}" in refused.value.message
    assert own(tmp_path) == find(tmp_path / "laid")
