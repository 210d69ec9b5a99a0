"""A server as its user meets it: models, requests, traces, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import tempfile
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, OWN_THREAD, cell
from whole_text import whole

from blsnb import InferenceError, ModelLoadError, Server
from blsnb.errors import RepositoryError, ServerClosedError
from blsnb.parts.server_parts import parts_of

X = {"X": np.array([1, 2], np.float32)}


HELD = """
stage.events["asleep"].set()
stage.events["end"].wait(60)
return [reply(x_of(request) * 2)]
"""


@pytest.fixture
def double(server: Server) -> Server:
    """A server with one model."""
    server.define("double", DOUBLE, config=CONFIG)
    return server


def test_a_defined_model_is_ready(server):
    """Its status has its state, version, inputs and outputs."""
    status = server.define("double", DOUBLE, config=CONFIG)

    assert ("double", (1,), "READY", "") == (
        status.name,
        status.versions,
        status.state,
        status.reason,
    )
    assert (("X:FP32[-1]",), ("Y:FP32[-1]",)) == (status.inputs, status.outputs)
    assert (0, 1) == (status.max_batch_size, status.instance_count)
    assert status.load_s > 0
    assert [status] == server.models()


def test_the_index_is_tritons(double):
    """A row for each version of each model, loaded or not."""
    parts_of(double).models.change("later", {"notes.txt": "no model yet"})

    assert [
        {"name": "double", "version": "1", "state": "READY"},
        {"name": "later"},
    ] == double.index()


def test_a_server_says_how_many_models_are_ready(double):
    """And the number of folders in the index that are not ready."""
    assert "<Server: 1 model ready>" == repr(double)
    parts_of(double).models.change("tests", {"test_x.py": "no model"})
    assert "<Server: 1 model ready, 1 not>" == repr(double)
    double.define("another", DOUBLE, config=CONFIG)
    assert "<Server: 2 models ready, 1 not>" == repr(double)
    double.close()
    assert "<Server: closed>" == repr(double)


def test_the_configuration_is_normalised(double):
    """JSON and text have Triton's defaults."""
    config = double.config("double")

    assert ("double", "python") == (config["name"], config["backend"])
    assert [{"latest": {"num_versions": 1}}] == [config["version_policy"]]
    assert 'name: "double"' in double.config_text("double")


@pytest.mark.parametrize("ask", ["config", "config_text"])
def test_the_configuration_of_an_unknown_model(server, ask):
    """The error has Triton's text and code."""
    with pytest.raises(InferenceError) as caught:
        getattr(server, ask)("nobody")

    assert ("NOT_FOUND", "Request for unknown model: 'nobody' is not found") == (
        caught.value.code,
        caught.value.message,
    )


def test_a_model_that_was_unloaded_is_refused_with_how_to_load_it(double):
    """The text is Triton's, the advice is blsnb's."""
    double.unload("double")
    with pytest.raises(InferenceError, match="'double' has no available") as caught:
        double.infer("double", X)

    assert "It is not loaded: %triton load double, or server.load('double')." == (
        caught.value.advice
    )


def test_models_of_a_repository_on_disk(tmp_path):
    """They are read in place, and loaded by name or all at once."""
    for name in ("a", "b"):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "1" / "model.py").write_text(DOUBLE)
        (tmp_path / name / "config.pbtxt").write_text(CONFIG)
    with Server(model_repository=tmp_path, startup_models=["a"]) as server:
        assert ["READY", "not loaded"] == [model.state for model in server.models()]
        assert "READY" == server.load("b").state
        assert [2, 4] == server.infer("b", X)["Y"].tolist()
    with Server(model_repository=[str(tmp_path)], startup_models="*") as server:
        assert ["READY", "READY"] == [model.state for model in server.models()]


@pytest.fixture
def private(tmp_path, monkeypatch) -> Path:
    """A folder that only contains the private folders of servers."""
    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_startup_model_that_fails_leaves_no_server(tmp_path, private):
    """The models that were loaded by then are closed."""
    for name, source in (("a", DOUBLE), ("b", "1 / 0")):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "1" / "model.py").write_text(source)
        (tmp_path / name / "config.pbtxt").write_text(OWN_THREAD)

    with pytest.raises(ModelLoadError, match="ZeroDivisionError"):
        Server(model_repository=tmp_path, startup_models="*")

    assert [] == list(private.iterdir())


def test_a_repository_that_is_not_there(tmp_path, private):
    """The error names it, and no folder remains."""
    with pytest.raises(RepositoryError, match="is not a folder of models"):
        Server(model_repository=tmp_path / "none")

    assert [] == list(private.iterdir())


def test_loading_an_unknown_model(server):
    """The error has Triton's text."""
    with pytest.raises(ModelLoadError) as caught:
        server.load("nobody")

    text = "failed to load 'nobody', failed to poll from model repository"
    assert text == caught.value.message


@pytest.mark.parametrize(
    "options",
    [
        {"triton_release": "23.01"},
        {"triton_release": "new"},
        {"trace_level": "everything"},
        {"keep_runs": -1},
        {"keep_calls": -7},
        {"exit_timeout_s": -0.5},
        {"hang_notice_s": float("nan")},
    ],
)
def test_an_unknown_setting_is_named(options, private):
    """The error names it, and no folder remains."""
    (value,) = options.values()

    with pytest.raises(ValueError, match=str(value)):
        Server(**options)
    assert [] == list(private.iterdir())


def test_close_ends_models_threads_and_folder():
    """Closing again has no effect."""
    server = Server()
    methods = 'def finalize(self):\n    stage.seen.append("finalized")\n'
    server.define("model", cell("pass", methods=methods), config=OWN_THREAD)
    folder = parts_of(server).repository.private_root

    server.close()
    server.close()

    assert ["finalized"] == stage.seen
    assert not folder.exists()


def test_a_closed_server_refuses_everything():
    """With one text that says what to do."""
    server = Server()
    server.define("double", DOUBLE, config=CONFIG)
    server.close()

    for use in (
        lambda: server.infer("double", X),
        lambda: server.load("double"),
        lambda: server.unload("double"),
        lambda: server.define("double", DOUBLE),
        lambda: asyncio.run(server.async_infer("double", X)),
    ):
        text = "the server was closed; make a new blsnb.Server()"
        with pytest.raises(ServerClosedError, match=whole(text)):
            use()
    assert "blsnb async_infer" not in {each.name for each in threading.enumerate()}


def test_close_lets_a_request_in_flight_end(server):
    """The request completes, and its instance is finalized afterwards."""
    methods = 'def finalize(self):\n    stage.events["finalized"].set()\n\n'
    server.define("model", cell(HELD, methods=methods), config=CONFIG)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(server.infer, "model", X)
        assert stage.events["asleep"].wait(60)
        closing = pool.submit(server.close)
        stage.events["end"].set()

        assert [2, 4] == running.result(60)["Y"].tolist()
        closing.result(60)
    assert stage.events["finalized"].wait(60)


def test_ctrl_c_during_close_ends_requests_and_closes(server, ctrl_c):
    """The models are finalized, and an open stream ends."""
    methods = 'def finalize(self):\n    stage.events["finalized"].set()\n\n'
    waits = cell(
        'stage.values["sender"] = request.get_response_sender()', methods=methods
    )
    decoupled = "model_transaction_policy { decoupled: true }"
    server.define("model", waits, config=f"{CONFIG}\n{decoupled}")
    stream = server.stream("model", X)
    stage.events["asleep"].set()
    ctrl_c.press()
    with pytest.raises(KeyboardInterrupt):
        server.close()

    with pytest.raises(ServerClosedError):
        next(stream)
    assert stage.events["finalized"].is_set()
    assert server.closed


def test_a_server_that_is_used_leaves_no_file(private):
    """Neither compiled nor other files remain in or beside its folder."""
    with Server() as server:
        files = {"helper.py": "x = 1"}
        source = f"import helper\n{DOUBLE}"
        server.define("double", source, config=CONFIG, files=files)
        server.infer("double", X)
        names = {p.name for p in parts_of(server).repository.private_root.rglob("*")}

        assert {"double", "1", "model.py", "helper.py", "config.pbtxt"} == names
    assert [] == list(private.iterdir())


def test_two_servers_are_independent(double):
    """The same name is a different model in each server."""
    with Server() as other:
        other.define("double", cell("return [reply(x_of(request))]"), config=CONFIG)

        assert [1, 2] == other.infer("double", X)["Y"].tolist()
    assert [2, 4] == double.infer("double", X)["Y"].tolist()


def test_files_beside_a_model_may_come_first(server):
    """A helper may be written before its model."""
    parts_of(server).models.change("model", {"1/helper.py": "FACTOR = 2"})
    source = "import helper\n" + cell("return [reply(x_of(request) * helper.FACTOR)]")
    server.define("model", source, config=CONFIG)

    assert [2, 4] == server.infer("model", X)["Y"].tolist()


def test_a_server_is_closed_while_a_model_loads_endlessly(server):
    """Its hook sees the cancellation, and closing does not wait for it."""
    source = cell("pass", methods="def initialize(self, args):\n    stage.sleep()\n")
    loading = threading.Thread(target=load_quietly, args=(server, source))
    loading.start()
    assert stage.events["asleep"].wait(60)
    parts_of(server).lifetime.exit_timeout_s = 0.01

    server.close()

    assert server.closed
    stage.events["end"].set()
    loading.join(60)
    assert not loading.is_alive()


def load_quietly(server: Server, source: str) -> None:
    """Define a model and ignore errors."""
    with contextlib.suppress(BaseException):
        server.define("slow", source, config=CONFIG)


def test_a_server_is_one_class():
    """Its parts are values, not base classes; its public names are for users."""
    assert (Server, object) == Server.__mro__
    assert 38 >= len([name for name in dir(Server) if not name.startswith("_")])


def test_an_unclosed_server_warns():
    """It warns like an unclosed file; a closed server does not."""
    server = Server()
    parts = parts_of(server)
    text = "unclosed blsnb.Server: call close(), or use it in a with statement"
    with pytest.warns(ResourceWarning, match=whole(text)):
        del server
    parts.lifetime.close()

    with warnings.catch_warnings(action="error"):
        closed = Server()
        closed.close()
        del closed


def test_a_run_outlives_the_reference_to_its_server():
    """Only `close` ends a server, so its runs can be replayed without a reference."""
    server = Server()
    parts = parts_of(server)
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", {"X": [1]})
    with pytest.warns(ResourceWarning, match="unclosed"):
        del server

    assert [2] == run.replay().this["Y"].tolist()
    parts.lifetime.close()


def test_the_runs_of_a_server_are_runs(double):
    """They equal those that its methods returned, with the same values."""
    run = double.infer("double", {"X": [1, 2]}, request_id="a")
    with pytest.raises(InferenceError) as failed:
        double.infer("double", {"Z": [1]})

    first, second = double.runs
    assert [run, failed.value.run] == [first, second]
    assert {run} == {first}
    assert [2, 4] == first["Y"].tolist()
    assert (first.error, second.error) == (None, failed.value.message)
    assert ("double", []) == (second.model_name, second.responses)
    assert [2, 4] == first.replay().this["Y"].tolist()


def test_a_run_without_values_names_the_level_that_keeps_them():
    """As a run of a server at trace level timestamps is one."""
    with Server(trace_level="timestamps") as server:
        server.define("double", DOUBLE, config=CONFIG)
        answered = server.infer("double", {"X": [1]})
        (recorded,) = server.runs

        assert [2] == answered["Y"].tolist()
        with pytest.raises(KeyError, match="trace_level='tensors'"):
            _ = recorded["Y"]


def test_a_server_serves_its_models_itself(double):
    """The method does the same as `blsnb.serving.serve`."""
    with double.serve(http=0, grpc=None, metrics=None) as endpoints:
        assert ["HTTP"] == list(endpoints.ports)
        with contextlib.closing(
            http.client.HTTPConnection(endpoints.addresses["HTTP"], timeout=60)
        ) as client:
            client.request("GET", "/v2/health/ready")
            assert 200 == client.getresponse().status
    assert endpoints.closed


def test_a_run_that_left_the_list_stays_usable():
    """It keeps its values and calls, and can be replayed and pinned."""
    with Server(keep_runs=1) as server:
        server.define("double", DOUBLE, config=CONFIG)
        first, second = (server.infer("double", {"X": [n]}) for n in (1, 2))

        assert [second] == server.runs
        assert [1] == first.trace.spans[0].inputs[0].view().tolist()
        assert [2] == first.replay().this["Y"].tolist()
        assert first is first.keep()
