"""Models under pytest: which server a test gets, and for how long."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from importlib import metadata

import pytest
import stage
from cells import DOUBLE, LIFE, TRIPLE, cell

from .conftest import write_repository

pytest_plugins = ["pytester"]

SERVED = "--triton-repository=models"


def test_pytest_finds_the_plugin_by_itself():
    """Where blsnb is installed nothing is to be configured."""
    [plugin] = metadata.entry_points(group="pytest11", name="blsnb")

    assert "blsnb.testing.plugin" == plugin.value


def test_a_test_without_a_server_imports_no_engine(tmp_path):
    """The plugin is imported in every run of pytest on the machine."""
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    script = (
        "import pytest, sys\n"
        "assert 0 == pytest.main(['-q', '-p', 'no:cacheprovider'])\n"
        "print(*sorted(m for m in sys.modules if m.startswith(('blsnb', 'numpy'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )

    loaded = done.stdout.splitlines()[-1].split()
    assert "blsnb.testing.plugin" in loaded
    assert not {"numpy", "blsnb.engine", "blsnb.inference_server"} & {*loaded}


def test_pytest_may_start_where_blsnb_is_in_use(tmp_path):
    """It does not warn when it starts in a notebook."""
    (tmp_path / "test_it.py").write_text("def test_it(triton_server): pass\n")
    script = (
        "import sys, pytest, blsnb.inference_server\n"
        "sys.exit(pytest.main(['-W', 'error', '-p', 'no:cacheprovider']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )

    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.timeout(180)  # a whole run of pytest starts, and imports everything
def test_tests_of_models_need_no_ipython(tmp_path):
    """IPython cannot be imported, and warnings are errors."""
    plain = DOUBLE.replace("import stage\n", "")
    write_repository(tmp_path / "models", inner=plain)
    (tmp_path / "test_it.py").write_text(
        "def test_good(triton_infer):\n"
        "    assert [2, 4] == triton_infer('inner', {'X': [1, 2]})['Y'].tolist()\n"
        "def test_bad(triton_server, tmp_path):\n"
        "    run = triton_server.infer('inner', {'X': [1, 2]})\n"
        "    path = run.save(tmp_path / 'run.blsrun')\n"
        "    triton_server.stand_in('inner', zeros=True)\n"
        "    triton_server.assert_replays(path)\n"
    )
    script = (
        "import sys, pytest\n"
        "sys.modules.update(dict.fromkeys(['IPython', 'ipywidgets', 'anywidget']))\n"
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    options = [
        "-W",
        "error",
        SERVED,
        "--triton-artefacts=kept",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert "1 failed, 1 passed" in done.stdout
    assert "output 'Y': 2 of 2 differ; most by 4 at [1]: 0, was 4" in done.stdout
    assert 3 == len(list((tmp_path / "kept").iterdir()))


@pytest.mark.usefixtures("models")
def test_the_models_of_a_repository_are_served(run_tests):
    """All of them; their folder is the repository's own."""
    body = """
    def test_it(triton_server, triton_infer):
        assert [2, 4] == triton_infer("outer", X)["Y"].tolist()
        assert [3, 6] == triton_infer("other", X)["Y"].tolist()
        folder = triton_server._parts.repository.directory("inner").path
        assert "models" == folder.parent.name
    """
    run_tests(body, SERVED).assert_outcomes(passed=1)


def test_an_ini_file_may_name_the_repositories(run_tests, pytester, models):
    """Relative to it; several are served together."""
    write_repository(pytester.path / "more", fourth=TRIPLE)
    pytester.makeini("[pytest]\ntriton_repository = models more\n")
    body = """
    def test_it(triton_infer):
        assert [2, 4] == triton_infer("outer", X)["Y"].tolist()
        assert [3, 6] == triton_infer("fourth", X)["Y"].tolist()
    """
    run_tests(body).assert_outcomes(passed=1)


def test_a_mark_wins_over_options_and_the_closest_mark_over_others(run_tests, pytester):
    """Settings that the closer one lacks come from the farther one."""
    for name in ("a", "b", "c"):
        write_repository(pytester.path / name, **{f"of_{name}": DOUBLE})
    body = """
    pytestmark = pytest.mark.triton(repository="b", keep_runs=3)

    def names(server):
        return [status.name for status in server.models()]

    def test_module(triton_server):
        assert ["of_b"] == names(triton_server)

    @pytest.mark.triton(repository=["c"])
    def test_closer(triton_server):
        assert ["of_c"] == names(triton_server)
        assert 3 == triton_server._parts.recorder.keep_runs
    """
    run_tests(body, "--triton-repository=a").assert_outcomes(passed=2)


def test_a_mark_names_the_models_that_are_loaded(run_tests, models):
    """It may have server settings; a folder is relative to the test's file."""
    body = """
    @pytest.mark.triton(repository="models", models=["other"], trace_level="off")
    def test_some(triton_server):
        ready = {row["name"] for row in triton_server.index() if "state" in row}
        assert {"other"} == ready
        triton_server.infer("other", X)
        assert [] == triton_server.runs

    @pytest.mark.triton(repository="models", model_control_mode="none")
    def test_all(triton_server):
        assert {"READY"} == {status.state for status in triton_server.models()}
    """
    run_tests(body).assert_outcomes(passed=2)


def test_without_a_repository_the_server_is_empty(run_tests):
    """A test defines the models itself."""
    body = """
    from cells import CONFIG, DOUBLE

    def test_it(triton_server):
        assert [] == triton_server.models()
        triton_server.define("double", DOUBLE, config=CONFIG)
        assert [2, 4] == triton_server.infer("double", X)["Y"].tolist()
    """
    run_tests(body).assert_outcomes(passed=1)


def test_every_test_has_a_server_of_its_own(run_tests, pytester):
    """What one test does to a model, the next one does not see."""
    life = cell("return [reply(x_of(request))]", methods=LIFE.format("counted"))
    write_repository(pytester.path / "models", counted=life)
    body = """
    servers = []

    @pytest.mark.parametrize("number", [1, 2])
    def test_it(number, triton_server):
        triton_server.infer("counted", X)
        servers.append(triton_server)
        assert number == len(servers)
        assert [False] == [each.closed for each in servers[-1:]]
        assert all(each.closed for each in servers[:-1])
    """
    run_tests(body, SERVED).assert_outcomes(passed=2)

    assert ["initialize counted", "finalize counted"] * 2 == stage.seen


@pytest.mark.parametrize(
    ("share", "count"), [("function", 6), ("class", 4), ("module", 2), ("session", 1)]
)
def test_a_server_is_shared_by_the_tests_of_a_scope(share, count, run_tests, pytester):
    """Loaded once for all tests of a class, a module or all, closed after the last."""
    life = cell("return [reply(x_of(request))]", methods=LIFE.format("shared"))
    write_repository(pytester.path / "models", shared=life)
    body = """
    def test_one(triton_infer):
        triton_infer("shared", X)

    class TestTwo:
        def test_two(self, triton_infer):
            triton_infer("shared", X)

        def test_three(self, triton_infer):
            triton_infer("shared", X)
    """
    pytester.makepyfile(test_other="from test_it import *")
    run_tests(body, SERVED, "-o", f"triton_share={share}").assert_outcomes(passed=6)

    began = [n for n, said in enumerate(stage.seen) if said == "initialize shared"]
    assert 2 * count == 2 * len(began) == len(stage.seen)
    # Those of the second file are loaded when those of the first are closed.
    assert "session" == share or count == began[len(began) // 2]


@pytest.mark.usefixtures("models")
def test_a_server_is_shared_by_the_files_of_a_package(pytester):
    """The tests of another package have another one."""
    body = """
    def test_it(triton_server):
        print("served by", id(triton_server))
        assert not triton_server.closed
    """
    for package in ("one", "two"):
        pytester.mkpydir(package)
        for file in ("test_a.py", "test_b.py"):
            (pytester.path / package / file).write_text(textwrap.dedent(body))
    ran = pytester.inline_run(
        f"--triton-repository={pytester.path / 'models'}",
        *("-o", "triton_share=package", "-p", "no:cacheprovider"),
    )

    servers = [
        re.search("served by (\\d+)", report.capstdout)[1]
        for report in ran.getreports("pytest_runtest_logreport")
        if report.when == "call"
    ]
    a, b, c, d = servers
    assert a == b
    assert c == d


@pytest.mark.usefixtures("models")
def test_tests_share_a_server_only_with_equal_settings(run_tests):
    """A mark with another setting brings another server."""
    body = """
    pytestmark = pytest.mark.triton(share="module")
    servers = []

    def test_one(triton_server):
        servers.append(triton_server)

    @pytest.mark.triton(trace_level="off")
    def test_two(triton_server):
        servers.append(triton_server)

    def test_three(triton_server):
        one, two = servers
        assert triton_server is one is not two
        assert not two.closed
    """
    run_tests(body, SERVED).assert_outcomes(passed=3)


@pytest.mark.usefixtures("models")
def test_a_shared_server_that_a_test_closed_is_replaced(run_tests):
    """For the tests after it."""
    body = """
    @pytest.mark.parametrize("number", [1, 2])
    def test_it(number, triton_server):
        triton_server.infer("outer", X)
        triton_server.close()
    """
    run_tests(body, SERVED, "-o", "triton_share=module").assert_outcomes(passed=2)


@pytest.mark.usefixtures("models")
def test_a_stand_in_is_removed_after_the_test(run_tests):
    """Shared servers and failed tests are no exception."""
    body = """
    pytestmark = pytest.mark.triton(share="module")

    def test_stand_in(triton_server):
        status = triton_server.stand_in("inner", call=lambda i: {"Y": i["X"] * 5})
        assert "call <lambda>" == status.standin
        assert [5, 10] == triton_server.infer("outer", X)["Y"].tolist()

    def test_failing(triton_server):
        triton_server.stand_in("inner", zeros=True)
        triton_server.stand_in("other", zeros=True)
        assert False

    def test_afterwards(triton_server):
        assert [2, 4] == triton_server.infer("outer", X)["Y"].tolist()
        assert [3, 6] == triton_server.infer("other", X)["Y"].tolist()
    """
    run_tests(body, SERVED).assert_outcomes(passed=2, failed=1)


@pytest.mark.parametrize("share", ["function", "module"])
def test_an_interrupted_session_closes_its_servers(share, run_tests, pytester):
    """Ctrl-C in a test leaves no model loaded."""
    life = cell("return [reply(x_of(request))]", methods=LIFE.format("it"))
    write_repository(pytester.path / "models", it=life)
    body = """
    def test_it(triton_server):
        raise KeyboardInterrupt
    """
    (pytester.path / "test_it.py").write_text(textwrap.dedent(body))
    options = [SERVED, "-o", f"triton_share={share}", "-p", "no:cacheprovider"]
    pytester.inline_run(*options, no_reraise_ctrlc=True)

    assert ["initialize it", "finalize it"] == stage.seen


def test_the_folder_of_the_tests_is_no_model(pytester, models):
    """It may be in the repository, unless it looks like a model."""
    tests = models / "tests"
    tests.mkdir()
    (tests / "test_it.py").write_text(
        "def test_it(triton_server):\n"
        "    ready = [row['name'] for row in triton_server.index() if 'state' in row]\n"
        "    assert ['inner', 'other', 'outer'] == ready\n"
    )
    options = ["-p", "no:cacheprovider", SERVED]
    pytester.runpytest_inprocess(*options, tests).assert_outcomes(passed=1)

    (tests / "1").mkdir()
    result = pytester.runpytest_inprocess(*options, tests)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*failed to load all models*", "*tests: *"])


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("trace='off'", "mark.triton: unknown setting 'trace'; expected repository, *"),
        ("keep_runs='3'", "keep_runs='3' is not valid; expected *"),
        (
            "startup_models='a'",
            "mark.triton: unknown setting 'startup_models'; expected *",
        ),
        (
            "share='mine'",
            "mark.triton: share='mine' is not valid; expected function, *, session",
        ),
        ("'models'", "mark.triton takes keyword arguments only: triton(repository=*"),
        ("repository='no'", "'*/no' is not a folder of models: it does not exist; *"),
        ("models='no'", "*failed to load 'no'*"),
        ("model_control_mode='some'", "model_control_mode='some' is not valid; *"),
        (
            "models='double', model_control_mode='none'",
            "Use of '--load-model' requires *",
        ),
    ],
)
def test_an_invalid_mark_is_an_error_of_the_set_up(mark, text, run_tests):
    """The error has the known settings or values."""
    body = f"""
    @pytest.mark.triton({mark})
    def test_it(triton_server):
        pass
    """
    result = run_tests(body, SERVED)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([text])


@pytest.mark.usefixtures("models")
def test_a_fixture_of_the_same_name_in_a_test_file_wins(run_tests):
    """As always, pytest prefers it."""
    body = """
    @pytest.fixture
    def triton_infer():
        return "mine"

    def test_it(triton_infer):
        assert "mine" == triton_infer
    """
    run_tests(body, SERVED).assert_outcomes(passed=1)


@pytest.mark.usefixtures("models")
def test_the_mark_is_a_known_one(run_tests):
    """Strict markers accept it, and the help lists it."""
    body = "@pytest.mark.triton\ndef test_it(): pass"
    run_tests(body, "--strict-markers").assert_outcomes(passed=1)

    result = run_tests(body, "--help")
    result.stdout.fnmatch_lines(["*--triton-repository=FOLDER*", "*triton_share*"])
