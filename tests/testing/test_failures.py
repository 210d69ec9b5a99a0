"""What is shown and kept of a test that failed."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from cells import CONFIG, cell

from blsnb.parts.server_parts import parts_of
from blsnb.testing import failures
from blsnb.testing.failures import Artefacts
from blsnb.testing.tested_server import TestedServer

from .conftest import write_repository

pytest_plugins = ["pytester"]

SERVED = "--triton-repository=models"
KEPT = "--triton-artefacts=kept"
ONE_FAILS = """
def test_good(triton_infer):
    triton_infer("outer", X)

def test_bad(triton_infer):
    triton_infer("outer", X)
    triton_infer("inner", {"Z": [1]})
"""


@pytest.fixture
def kept(pytester):
    """Return the names of the artefacts."""
    return lambda: sorted(path.name for path in (pytester.path / "kept").iterdir())


@pytest.mark.usefixtures("models")
def test_a_failure_shows_the_runs_of_its_test(run_tests):
    """Trees have notes and are in order; other tests' runs are not shown."""
    result = run_tests(ONE_FAILS, SERVED)

    result.assert_outcomes(passed=1, failed=1)
    assert 1 == result.stdout.str().count("- blsnb runs -")
    result.stdout.fnmatch_lines(
        [
            "*- blsnb runs -*",
            "outer: * 2 calls, 2 models",
            "  outer *",
            "    inner *",
            "inner: * 1 error",
            "    ! unexpected inference input 'Z' for model 'inner'",
            "    [*] Its inputs are: X.",
        ]
    )


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("request_line", "error"),
    [
        ('triton_server.infer("inner", {"Z": [1]})', "InferenceError"),
        ('triton_server.infer("inner", X, profile=True, version=9)', "InferenceError"),
        ('next(triton_server.stream("inner", {"Z": [1]}))', "InferenceError"),
        ('triton_server.infer("inner", {"X": ["a"]})', "InputError"),
        ('triton_server.infer("inner", {"X": None})', "InputError"),
        ('triton_server.infer("inner", X)["Z"]', "MissingOutputError"),
        ('triton_server.stand_in("inner")', "ValueError"),
        ('triton_server.stand_in("inner", random="a")', "TypeError"),
        ('triton_server.stand_in("inner", remote="localhost:1")', "ValueError"),
        ('triton_server.stand_in("none", zeros=True)', "ModelLoadError"),
        ('triton_server.standin("inner", call=1)', "TypeError"),
    ],
)
def test_the_traceback_of_what_is_refused_ends_in_the_test(
    run_tests, request_line, error
):
    """It leaves out the frames of blsnb."""
    body = f"def test_bad(triton_server):\n    {request_line}"
    result = run_tests(body, SERVED)

    result.assert_outcomes(failed=1)
    shown = re.findall(r"^(\S+):(\d+): (.*)$", result.stdout.str(), re.MULTILINE)
    assert [("test_it.py", "6", error)] == shown


@pytest.mark.usefixtures("models")
def test_a_shared_server_shows_the_runs_of_one_test_only(run_tests):
    """Not those of earlier tests."""
    result = run_tests(ONE_FAILS, SERVED, "-o", "triton_share=session")

    assert 1 == result.stdout.str().count("outer: ")


@pytest.mark.usefixtures("models")
def test_a_failure_without_a_run_shows_nothing(run_tests):
    """Expected failures and tests without a server show nothing, either."""
    body = """
    def test_no_run(triton_server):
        assert False

    @pytest.mark.xfail(strict=True)
    def test_expected(triton_infer):
        triton_infer("outer", {})

    def test_no_server():
        assert False
    """
    result = run_tests(body, SERVED)

    result.assert_outcomes(failed=2, xfailed=1)
    result.stdout.no_fnmatch_line("*blsnb runs*")


@pytest.mark.usefixtures("models")
def test_many_runs_are_left_out_and_counted(run_tests):
    """The newest are shown."""
    body = """
    def test_it(triton_infer):
        for _ in range(7):
            triton_infer("inner", X)
        assert False
    """
    result = run_tests(body, SERVED)

    assert 5 == result.stdout.str().count("inner: ")
    result.stdout.fnmatch_lines(["… 2 earlier runs"])


@pytest.mark.usefixtures("models")
def test_runs_that_are_no_longer_kept_are_not_counted(run_tests):
    """Their number is unknown: the server keeps the newest."""
    body = """
    def test_it(triton_infer):
        for _ in range(60):
            triton_infer("inner", X)
        assert False
    """
    result = run_tests(body, SERVED)

    result.stdout.fnmatch_lines(
        ["… 45 earlier runs, and others that the server no longer keeps"]
    )


@pytest.mark.usefixtures("models")
def test_a_fixture_that_fails_shows_its_runs_too(run_tests):
    """They were made in the test's set-up."""
    body = """
    @pytest.fixture
    def answer(triton_infer):
        return triton_infer("inner", {"Z": [1]})

    def test_it(answer):
        pass
    """
    result = run_tests(body, SERVED)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*blsnb runs*", "inner: * 1 error"])


@pytest.mark.usefixtures("models")
def test_the_pages_of_a_failure_are_kept(run_tests, kept, pytester):
    """Named after the test, with their paths; none of passed tests."""
    result = run_tests(ONE_FAILS, SERVED, KEPT)

    assert ["test_it.py-test_bad.1.html", "test_it.py-test_bad.2.html"] == kept()
    page = pytester.path / "kept" / "test_it.py-test_bad.2.html"
    assert "<title>inner" in page.read_text(encoding="utf-8")
    result.stdout.fnmatch_lines([f"kept: {page}"])


@pytest.mark.usefixtures("models")
def test_a_replay_that_failed_keeps_the_comparison(run_tests, kept):
    """Both runs side by side."""
    body = """
    def test_it(triton_server, assert_replays, tmp_path):
        path = triton_server.infer("outer", X).save(tmp_path / "run.blsrun")
        triton_server.stand_in("inner", zeros=True)
        assert_replays(path, atol=1)
    """
    result = run_tests(body, SERVED, KEPT)

    result.assert_outcomes(failed=1)
    assert "test_it.py-test_it.compared.html" in kept()


def name_in_new_process(folder, test):
    """Return the name of the page that a process with nothing to remember writes."""
    run = SimpleNamespace(save=lambda path: path)
    [path] = failures.Artefacts(folder).keep(test, [run], None)
    return path.name


@pytest.mark.usefixtures("models")
def test_tests_of_odd_names_keep_pages_of_their_own(run_tests, kept):
    """A parameter may be any text."""
    body = """
    @pytest.mark.parametrize("text", ["a/b", "a b", "../..", "é" * 300])
    def test_it(text, triton_infer):
        triton_infer("inner", X)
        assert False
    """
    run_tests(body, SERVED, KEPT)

    assert 4 == len(kept())
    assert 2 == len([name for name in kept() if "test_it.py-test_it-a-b-" in name])


def test_processes_that_share_a_folder_give_each_test_another_name(tmp_path):
    """A session with workers of pytest-xdist loses no page."""
    tests = [
        "a.py::t[a/b]",
        "a.py::t[a b]",
        "a.py::t[a-b]",
        f"{'x' * 300}::t",
        "x" * 300,
    ]
    names = [name_in_new_process(tmp_path, test) for test in tests]

    assert len(tests) == len(set(names))
    assert "a.py-t-a-b.html" == names[2]


@pytest.mark.usefixtures("models")
def test_without_failures_nothing_is_kept(run_tests, pytester):
    """No folder is created."""
    run_tests(ONE_FAILS, SERVED, KEPT, "-k", "good").assert_outcomes(passed=1)

    assert not (pytester.path / "kept").exists()


@pytest.mark.usefixtures("models")
def test_a_page_that_cannot_be_written_does_not_end_the_session(run_tests, pytester):
    """The failure is reported, with the reason."""
    (pytester.path / "kept").write_text("a file")
    result = run_tests(ONE_FAILS, SERVED, KEPT)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["outer: *", "not kept: *File exists*"])


@pytest.mark.usefixtures("models")
def test_a_run_that_cannot_be_shown_does_not_end_the_session(run_tests, monkeypatch):
    """The failure of the test itself is reported."""

    def fail(*runs):
        raise ZeroDivisionError("no tree")

    monkeypatch.setattr(failures, "trees", fail)
    result = run_tests(ONE_FAILS, SERVED)

    result.assert_outcomes(passed=1, failed=1)
    text = "the runs cannot be shown: ZeroDivisionError: no tree"
    result.stdout.fnmatch_lines(["*unexpected inference input 'Z'*", text])


def test_what_a_run_contains_cannot_write_to_the_terminal(run_tests, pytester):
    """Control characters of an error's text are shown, not sent."""
    evil = cell(r'raise ValueError("\x1b[2J\x07")')
    write_repository(pytester.path / "models", evil=evil)
    body = """
    def test_it(triton_infer):
        with pytest.raises(Exception):
            triton_infer("evil", X)
        assert False
    """
    result = run_tests(body, SERVED)

    result.stdout.fnmatch_lines(["*blsnb runs*", "*! Failed to process*ValueError*"])
    assert "\x1b[2J" not in result.stdout.str()


def test_a_running_stream_is_shown_as_far_as_it_got(run_tests, pytester):
    """The model is still at work when the test fails."""
    config = "model_transaction_policy { decoupled: true }"
    source = cell("""
    sender = request.get_response_sender()
    sender.send(reply(x_of(request)))
    stage.sleep()
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    """)
    folder = write_repository(pytester.path / "models", many=source)
    with (folder / "many" / "config.pbtxt").open("a") as file:
        file.write(config)
    body = """
    import stage

    def test_it(triton_server):
        stream = triton_server.stream("many", X)
        next(stream)
        assert False

    @pytest.fixture(autouse=True)
    def wake(triton_server):
        yield
        stage.clear()
        stage.begin()
    """
    result = run_tests(body, SERVED)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*blsnb runs*", "many: * 1 call, 1 model", "  many *"])


def test_a_test_that_runs_again_keeps_the_pages_of_both(tmp_path):
    """A plugin may run a failed test again."""
    artefacts = Artefacts(tmp_path)
    with TestedServer() as server:
        server.define("m", cell("return [reply(x_of(request))]"), config=CONFIG)
        runs = [server.infer("m", {"X": [1.0]})]
        kept = [artefacts.keep("test", runs, None) for _ in range(3)]

    names = [path.name for (path,) in kept]
    assert ["test.html", "test-2.html", "test-3.html"] == names


def test_a_test_without_a_run_has_no_artefacts(tmp_path):
    """A run without calls has none, either."""
    with TestedServer() as server:
        parts_of(server).recorder.begin()
        assert [] == server.runs_of_test
    assert [] == Artefacts(tmp_path / "a" / "b").keep("test", [], None)
