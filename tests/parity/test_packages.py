"""Packages that models import must exist in the real server's environment."""

from __future__ import annotations

import re
import sys

import pytest

from blsnb.errors import TritonServerError
from blsnb.parity import install, packages
from blsnb.parity.triton.environment import TritonEnv

ENV = TritonEnv("/opt/server", "", sys.executable, "", "p")


@pytest.fixture
def model(tmp_path):
    """A model that imports NumPy, pytest and its own module."""
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "beside.py").touch()
    (tmp_path / "m" / "1" / "model.py").write_text(
        "import json, beside, numpy, pytest\n"
    )
    return tmp_path / "m"


def ignore(step: str) -> None:
    """Ignore a reported step."""


def test_imported_packages_exclude_numpy(model):
    """The environment has the NumPy version that the server needs."""
    assert [f"pytest=={pytest.__version__}"] == packages.imported([model])


def test_a_package_is_missing_only_if_no_version_is_installed():
    """A different version may work."""
    found = packages.missing(ENV, ["pytest==0.1", "no-such-thing==1.0", "numpy"])

    assert ["no-such-thing==1.0"] == found
    assert [] == packages.missing(ENV, [])


def test_a_missing_package_is_reported_with_the_command_that_adds_it(
    model, monkeypatch
):
    """The command depends on whether blsnb made the environment."""
    monkeypatch.setattr(packages, "missing", lambda env, pins: ["torch==2.1"])
    for own, command in (
        (None, f"{sys.executable} -m pip install torch==2.1"),
        (ENV, f"{sys.executable} -m blsnb.parity.install torch==2.1"),
    ):
        monkeypatch.setattr(packages, "installed", lambda own=own: own)
        with pytest.raises(TritonServerError) as refused:
            packages.provide(ENV, [model], may_install=own is None, report=ignore)
        assert (
            "the models import torch==2.1, which the Python of the real server "
            f"({sys.executable}) does not have"
        ) == refused.value.message
        assert f"Add what is missing:\n    {command}" == refused.value.advice


def test_packages_are_installed_only_into_an_environment_of_blsnb(model, monkeypatch):
    """``may_install`` must be set."""
    added: list[object] = []
    monkeypatch.setattr(packages, "missing", lambda env, pins: ["torch==2.1"])
    monkeypatch.setattr(packages, "installed", lambda: ENV)
    monkeypatch.setattr(install, "add", lambda *arguments: added.append(arguments))
    steps: list[str] = []
    packages.provide(ENV, [model], may_install=True, report=steps.append)

    assert [(ENV, ["torch==2.1"])] == added
    assert ["install torch==2.1"] == steps


def test_a_missing_version_is_replaced_by_the_newest(monkeypatch):
    """NumPy stays below 2; an unknown name is an error."""
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


def test_a_python_that_does_not_run_is_reported(model):
    """The error contains its path."""
    env = TritonEnv("", "", "/nowhere/python", "", "p")
    text = (
        "the Python of the real server does not run: [Errno 2] No such file or "
        "directory: '/nowhere/python'"
    )
    with pytest.raises(TritonServerError, match=f"^{re.escape(text)}$"):
        packages.missing(env, ["six"])
