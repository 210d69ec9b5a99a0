"""The pytest plugin: fixtures that serve models, and the runs of failed tests."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from blsnb.evaluation.result.evaluation import Evaluation
    from blsnb.results.comparison import Comparison
    from blsnb.results.run import Run
    from blsnb.testing.failures import Artefacts
    from blsnb.testing.pool import ServerPool
    from blsnb.testing.settings import FixtureSettings
    from blsnb.testing.tested_server import TestedServer

_MARK = (
    "triton(repository=None, models='*', share='function', **settings): the models of "
    "the fixture triton_server; further settings are those of blsnb.Server."
)
_SERVER: pytest.StashKey[TestedServer] = pytest.StashKey()
_POOL: pytest.StashKey[ServerPool] = pytest.StashKey()
_ARTEFACTS: pytest.StashKey[Artefacts] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add command-line options and settings of the ini-file."""
    group = parser.getgroup("triton", "Triton models, served by blsnb")
    group.addoption(
        "--triton-repository",
        action="append",
        type=Path,
        metavar="FOLDER",
        help="model repository that the fixture triton_server serves, where no mark "
        "names another; may be repeated",
    )
    group.addoption(
        "--triton-artefacts",
        type=Path,
        metavar="FOLDER",
        help="where to keep the pages of failed tests' runs, named after the tests",
    )
    text = "model repositories that the fixture triton_server serves"
    parser.addini("triton_repository", text, type="paths", default=[])
    text = (
        "which tests share a server: function (none), class, module, package, session"
    )
    parser.addini("triton_share", text, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", _MARK)


@pytest.fixture
def triton_server(request: pytest.FixtureRequest) -> Iterator[TestedServer]:
    """Server with the models of ``--triton-repository`` or of ``mark.triton``.

    It is closed after the test; with ``share="module"`` and the like, after the last
    test that shares it.
    """
    from blsnb.testing.pool import ServerPool

    node = request.node
    pool = request.config.stash.setdefault(_POOL, ServerPool())
    server = _lent(pool, node)
    node.stash[_SERVER] = server
    server.begin_test(node.path.parent)
    yield server
    del node.stash[_SERVER]
    pool.take_back(server)


@pytest.fixture
def triton_infer(triton_server: TestedServer) -> Callable[..., Run]:
    """``triton_server.infer``: runs a request on a model and returns the run."""
    return triton_server.infer


@pytest.fixture
def assert_replays(triton_server: TestedServer) -> Callable[..., Comparison]:
    """``triton_server.assert_replays``: executes a recorded run again and compares."""
    return triton_server.assert_replays


@pytest.fixture
def assert_evaluates(triton_server: TestedServer) -> Callable[..., Evaluation]:
    """``triton_server.assert_evaluates``: requires metrics of a model on a data set."""
    return triton_server.assert_evaluates


def _lent(pool: ServerPool, test: pytest.Item) -> TestedServer:
    """Return the server of a test; if it cannot be made, fail the test briefly."""
    from blsnb.errors import BlsnbError

    try:
        return pool.lend(test, _settings(test))
    except (BlsnbError, TypeError, ValueError) as error:
        message = str(error).rstrip()
    pytest.fail(message, pytrace=False)


def _settings(test: pytest.Item) -> FixtureSettings:
    from blsnb.testing.settings import SettingError, settings_of

    config = test.config
    marks = list(test.iter_markers("triton"))
    if any(mark.args for mark in marks):
        raise SettingError(f"mark.triton takes keyword arguments only: {_MARK}")
    paths = config.getoption("--triton-repository") or ()
    given = [config.invocation_params.dir / path for path in paths]
    return settings_of(
        [mark.kwargs for mark in marks],
        given or config.getini("triton_repository"),
        config.getini("triton_share"),
        test.path.parent,
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the runs of a failed test and write their pages."""
    report = yield
    server = item.stash.get(_SERVER, None)
    if server is not None and report.failed:
        report.sections += _sections(item, server, call)
    return report


def _sections(
    item: pytest.Item, server: TestedServer, call: pytest.CallInfo[None]
) -> list[tuple[str, str]]:
    from blsnb.testing import failures

    try:
        runs = server.runs_of_test
        text = failures.trees(runs, server.keeps_all_runs)
        if runs:
            text += _kept(item, runs, call.excinfo and call.excinfo.value)
    except Exception as error:
        # An error here would be an internal error of pytest.
        text = f"the runs cannot be shown: {type(error).__name__}: {error}"
    return [(failures.SECTION, text)] if text else []


def _kept(item: pytest.Item, runs: list[Run], error: BaseException | None) -> str:
    """Write the pages of runs if there is a folder for them; return their paths."""
    from blsnb.testing.failures import Artefacts

    config = item.config
    folder = config.getoption("--triton-artefacts")
    if folder is None:
        return ""
    place = config.invocation_params.dir / folder
    artefacts = config.stash.setdefault(_ARTEFACTS, Artefacts(place))
    try:
        paths = artefacts.keep(item.nodeid, runs, error)
    except OSError as problem:
        return f"\nnot kept: {problem}"
    return "".join(f"\nkept: {path}" for path in paths)
