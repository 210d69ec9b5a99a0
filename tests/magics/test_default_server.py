"""Specification of the kernel's default server."""

import asyncio
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import blsnb
from blsnb.errors import ServerClosedError
from blsnb.inference_server import Server
from blsnb.magics import default_server as default
from blsnb.options import Options, options
from blsnb.parts.server_parts import parts_of

from .models import DOUBLE

SOURCE = DOUBLE.partition("\n")[2]
CONFIG = """
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""


@pytest.fixture
def server():
    yield default.server()
    default.close_default()


@pytest.fixture
def _settings():
    yield
    for name in Options.__dataclass_fields__:
        setattr(options, name, getattr(Options(), name))


def test_there_is_one_server_for_all(server):
    """All functions and magics use the same server."""
    assert server is default.server() is blsnb.server() is default.started()


def test_none_is_made_before_its_first_use():
    """Checking for the server does not make it."""
    assert default.started() is None


def test_a_model_runs_without_a_notebook(server):
    """blsnb.infer and blsnb.async_infer use the default server."""
    server.define("double", SOURCE, config=CONFIG)
    inputs = {"X": [1.0]}

    assert [2.0] == blsnb.infer("double", inputs)["Y"].tolist()
    run = asyncio.run(blsnb.async_infer("double", inputs, outputs=["Y"]))
    assert [2.0] == run["Y"].tolist()


@pytest.mark.parametrize("name", ["infer", "async_infer", "stream", "bench"])
def test_the_functions_have_the_options_of_a_server(name):
    """Help and completion show each option."""
    of_server = list(inspect.signature(getattr(Server, name)).parameters.values())[1:]
    of_default = list(inspect.signature(getattr(blsnb, name)).parameters.values())

    assert of_server == of_default


def test_a_stream_reads_from_its_models(server):
    """A model that is not decoupled sends one response."""
    server.define("double", SOURCE, config=CONFIG)

    (response,) = blsnb.stream("double", {"X": [1.0]})

    assert ([2.0], True) == (response["Y"].tolist(), response.final)


@pytest.mark.usefixtures("_settings")
def test_the_options_are_its_settings():
    """The settings are read at the first use."""
    options.log_verbose = 1
    options.keep_runs = 3
    options.keep_calls = 70
    server = default.server()
    default.close_default()

    kept = parts_of(server).recorder.keep_runs, parts_of(server).recorder.keep_calls
    assert (1, 3, 70) == (server.log.verbose, *kept)


def test_the_options_have_the_defaults_of_a_server():
    """The defaults are listed twice, since options must not import a server."""
    of_server = inspect.signature(Server).parameters
    shared = vars(Options()).keys() & of_server.keys()

    assert {"keep_calls", "keep_runs", "trace_budget_bytes"} <= shared
    assert {name: getattr(Options(), name) for name in shared} == {
        name: of_server[name].default for name in shared
    }


@pytest.mark.usefixtures("_settings")
def test_a_setting_that_comes_too_late_is_reported_once(server):
    """Display settings may change at any time."""
    options.show = not options.show
    assert server is default.server()
    options.keep_runs = 3
    with pytest.warns(UserWarning, match="keep_runs") as caught:
        default.server()
    assert [
        "blsnb.options.keep_runs changed after the default server was made; only the "
        "next one follows: blsnb.server().close() closes this one, with its models"
    ] == [str(each.message) for each in caught]
    assert server is default.server()
    server.close()
    assert 3 == parts_of(default.server()).recorder.keep_runs


@pytest.mark.parametrize(
    "line", ["blsnb.infer('double', {'X': [1]})", "%triton models"]
)
def test_the_warning_of_a_late_setting_is_at_the_users_line(notebook, settings, line):
    """No line of blsnb or IPython is shown for it."""
    notebook.run(DOUBLE)
    notebook.run("import blsnb; blsnb.options.keep_runs = 3")
    with pytest.warns(UserWarning, match="changed after the default") as caught:
        notebook.run(line)

    [shown] = [each.filename for each in caught]
    assert "/ipykernel_" in shown or "<ipython-input" in shown


def test_closing_makes_room_for_a_new_one():
    """The old server and its folder are gone, and the new server is empty."""
    old = default.server()
    root = parts_of(old).repository.private_root
    default.close_default()
    default.close_default()

    assert not root.exists()
    with pytest.raises(ServerClosedError):
        old.infer("double", {})
    assert default.server() is not old
    default.close_default()


def test_an_observer_follows_the_server():
    """It may be registered first, and also observes the next server."""
    seen = []
    stop = default.observe(lambda run, call: seen.append(call))
    for _ in range(2):
        default.server().define("double", SOURCE, config=CONFIG)
        blsnb.infer("double", {"X": [1.0]})
        default.close_default()
    counted = len(seen)
    stop()
    default.server().define("double", SOURCE, config=CONFIG)
    blsnb.infer("double", {"X": [1.0]})
    default.close_default()

    # A call begins, ends, and the run ends: twice.
    assert 6 == counted == len(seen)


@pytest.mark.slow
def test_the_folder_is_removed_when_the_process_ends():
    """The default server needs no explicit close."""
    code = "import blsnb; print(blsnb.server()._parts.repository.private_root)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    root = Path(done.stdout.strip())
    assert root.name.startswith("blsnb-")
    assert not root.exists()
