"""Runs of pytest with the plugin, on repositories made for them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from cells import CONFIG, DOUBLE, TRIPLE, calling

from blsnb.testing.replays import ReplayError
from blsnb.testing.tested_server import TestedServer
from blsnb.views.tree import tree

Run = Callable[..., pytest.RunResult]


@pytest.fixture(scope="module", autouse=True)
def imported_once(tmp_path_factory) -> None:
    """Import all that tests below import: pytester forgets what they did.

    What is imported once more is not the same, and Protobuf refuses it.
    """
    folder = tmp_path_factory.mktemp("once")
    with TestedServer() as server:
        server.define("double", DOUBLE, config=CONFIG)
        run = server.infer("double", {"X": [1]})
        run.save(folder / "run.blsrun")
        server.stand_in("double", zeros=True)
        with pytest.raises(ReplayError) as caught:
            server.assert_replays(folder / "run.blsrun")
        caught.value.comparison.save(folder / "compared.html")
        run.save(folder / "run.html")
        server.stand_in("double", call=lambda inputs: {"Y": inputs["X"]})
        assert tree(run.trace)


def write_repository(folder: Path, **sources: str) -> Path:
    """Write models, each of a source, and return their repository."""
    for name, source in sources.items():
        (folder / name / "1").mkdir(parents=True)
        (folder / name / "1" / "model.py").write_text(source)
        (folder / name / "config.pbtxt").write_text(CONFIG)
    return folder


@pytest.fixture
def models(pytester: pytest.Pytester) -> Path:
    """A repository in the working folder: inner doubles, outer calls it."""
    sources = {"inner": DOUBLE, "outer": calling("inner"), "other": TRIPLE}
    return write_repository(pytester.path / "models", **sources)


@pytest.fixture
def run_tests(pytester: pytest.Pytester) -> Run:
    """Return a function that runs a test file in this process."""

    def run(body: str, *options: str) -> pytest.RunResult:
        source = f"import pytest\n\nX = {{'X': [1, 2]}}\n\n{textwrap.dedent(body)}"
        pytester.makepyfile(test_it=source)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)

    return run
