"""What models import must be there for the real server, too."""

from __future__ import annotations

import sys

import pytest

from blsnb.errors import TritonServerError
from blsnb.parity import install, packages
from blsnb.parity.triton.environment import TritonEnv

ENV = TritonEnv("/opt/server", "", sys.executable, "", "p")


@pytest.fixture
def model(tmp_path):
    """A model that imports NumPy, pytest, and a file beside it."""
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "beside.py").touch()
    (tmp_path / "m" / "1" / "model.py").write_text(
        "import json, beside, numpy, pytest\n"
    )
    return tmp_path / "m"


def nobody_is_told(words: str) -> None:
    """Take what is being done."""


def test_packages_are_those_of_an_export_but_numpy(model):
    """NumPy is there already, in the version that the server can use."""
    assert [f"pytest=={pytest.__version__}"] == packages.imported([model])


def test_one_that_is_there_in_any_version_is_not_missing():
    """A version that differs need not do any harm."""
    found = packages.missing(ENV, ["pytest==0.1", "no-such-thing==1.0", "numpy"])

    assert ["no-such-thing==1.0"] == found
    assert [] == packages.missing(ENV, [])


def test_a_missing_one_is_told_with_the_command_that_adds_it(model, monkeypatch):
    """Another one where the environment is the server's own."""
    monkeypatch.setattr(packages, "missing", lambda env, pins: ["torch==2.1"])
    for own, command in (
        (None, f"{sys.executable} -m pip install torch==2.1"),
        (ENV, f"{sys.executable} -m blsnb.parity.install torch==2.1"),
    ):
        monkeypatch.setattr(packages, "installed", lambda own=own: own)
        with pytest.raises(TritonServerError, match="import torch==2") as refused:
            packages.provide(ENV, [model], may_install=own is None, say=nobody_is_told)
        assert command in refused.value.advice


def test_it_is_installed_only_into_the_servers_own_environment(model, monkeypatch):
    """And only when asked."""
    added: list[object] = []
    monkeypatch.setattr(packages, "missing", lambda env, pins: ["torch==2.1"])
    monkeypatch.setattr(packages, "installed", lambda: ENV)
    monkeypatch.setattr(install, "add", lambda *given: added.append(given))
    packages.provide(ENV, [model], may_install=True, say=nobody_is_told)

    assert [(ENV, ["torch==2.1"])] == added


def test_a_version_that_does_not_exist_there_is_replaced_by_the_newest(monkeypatch):
    """Always beside a NumPy that the server can use; a name that is none is told."""
    ran: list[list[str]] = []

    def run(command):
        ran.append(command[-2:])
        if "torch==2.1" in command or "none" in command:
            raise install.CannotInstallError("no such version")

    monkeypatch.setattr(install, "run", run)
    install.add(ENV, ["torch==2.1", "six"])
    assert [["numpy<2", "torch==2.1"], ["numpy<2", "torch"], ["numpy<2", "six"]] == ran

    with pytest.raises(install.CannotInstallError):
        install.add(ENV, ["none"])


def test_a_python_that_does_not_run_is_told(model):
    """By its path."""
    env = TritonEnv("", "", "/nowhere/python", "", "p")
    with pytest.raises(TritonServerError, match="/nowhere/python"):
        packages.missing(env, ["six"])
