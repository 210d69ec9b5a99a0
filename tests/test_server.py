"""A server as its user meets it: models, requests, traces, and its end."""

from __future__ import annotations

import asyncio
import itertools
import logging
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, OWN_THREAD, calling, cell, instances

from blsnb import InferenceError, ModelLoadError, Run, Server
from blsnb.errors import NotYetError, RepositoryError, ServerClosedError

X = {"X": np.array([1, 2], np.float32)}
HELD = """
stage.events["asleep"].set()
stage.events["end"].wait(10)
return [reply(x_of(request) * 2)]
"""


@pytest.fixture
def double(server: Server) -> Server:
    """A server with one model."""
    server.define("double", DOUBLE, config=CONFIG)
    return server


def test_a_defined_model_is_ready(server):
    """Its status says what it is."""
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
    assert "<Server: 1 models, 1 versions ready>" == repr(server)


def test_the_index_is_tritons(double):
    """A row for each version of each model, loaded or not."""
    double.change("later", {"notes.txt": "no model yet"})

    assert [
        {"name": "double", "version": "1", "state": "READY"},
        {"name": "later"},
    ] == double.index()


def test_the_configuration_is_normalised(double):
    """As JSON and as text, with what Triton fills in."""
    config = double.config("double")

    assert ("double", "python") == (config["name"], config["backend"])
    assert [{"latest": {"num_versions": 1}}] == [config["version_policy"]]
    assert 'name: "double"' in double.config_text("double")


@pytest.mark.parametrize("ask", ["config", "config_text"])
def test_the_configuration_of_a_stranger(server, ask):
    """Triton's text and code."""
    with pytest.raises(InferenceError) as caught:
        getattr(server, ask)("nobody")

    assert ("NOT_FOUND", "Request for unknown model: 'nobody' is not found") == (
        caught.value.code,
        caught.value.message,
    )


def test_an_unknown_model_names_those_that_are_known(double):
    """Below Triton's text."""
    with pytest.raises(InferenceError) as caught:
        double.infer("duoble", X)

    assert "Request for unknown model: 'duoble' is not found" == caught.value.message
    assert "Models that are loaded: double." == caught.value.advice


def test_infer_gives_a_run(double):
    """Outputs by name, as arrays of the caller's own."""
    run = double.infer("double", X)

    assert isinstance(run, Run)
    assert [2, 4] == run["Y"].tolist()
    run["Y"][0] = 9
    assert [9, 4] == run.outputs["Y"].tolist()
    assert run.error is None


def test_lists_take_the_configured_type(double):
    """Arrays keep their own."""
    assert [2, 4] == double.infer("double", {"X": [1, 2]})["Y"].tolist()
    with pytest.raises(InferenceError, match="data-type is 'INT64'"):
        double.infer("double", {"X": np.array([1, 2])})


def test_the_fields_of_a_request_reach_the_model(server):
    """As the client gave them."""
    body = """
    import json
    stage.seen.append((
        request.request_id(),
        request.correlation_id(),
        request.flags(),
        request.timeout(),
        json.loads(request.parameters()),
        request.requested_output_names(),
    ))
    return [reply(x_of(request))]
    """
    server.define("model", cell(body), config=CONFIG)
    run = server.infer(
        "model",
        X,
        request_id="mine",
        correlation_id=7,
        sequence_start=True,
        sequence_end=True,
        timeout_us=5,
        parameters={"a": 1, "b": "c", "d": True},
        outputs=["Y"],
    )

    assert [("mine", 7, 3, 5, {"a": 1, "b": "c", "d": True}, {"Y"})] == stage.seen
    assert "mine" == run.trace.request_id


def test_only_requested_outputs_come_back(server):
    """All of them if none is named; an unknown one is refused."""
    config = f'{CONFIG}\noutput {{ name: "Z" data_type: TYPE_FP32 dims: [ -1 ] }}'
    body = """
    z = pb_utils.Tensor("Z", x_of(request))
    y = pb_utils.Tensor("Y", x_of(request))
    return [pb_utils.InferenceResponse([z, y])]
    """
    server.define("model", cell(body), config=config)

    assert ["Z", "Y"] == list(server.infer("model", X).outputs)
    assert ["Y"] == list(server.infer("model", X, outputs=["Y"]).outputs)
    with pytest.raises(InferenceError) as caught:
        server.infer("model", X, outputs=["Q"])
    text = "unexpected inference output 'Q' for model 'model'"
    assert text == caught.value.message
    assert "Y, Z" in caught.value.advice


def test_a_failure_carries_text_code_run_and_cause(double):
    """So that it can be looked at, and debugged."""
    double.define("bad", cell("raise ValueError('boom')"), config=CONFIG)

    with pytest.raises(InferenceError) as caught:
        double.infer("bad", X)

    error = caught.value
    file = double.repository.private_root / "bad" / "1" / "model.py"
    line = 1 + file.read_text().splitlines().index("        raise ValueError('boom')")
    assert (
        "Failed to process the request(s) for model 'bad_0', message: "
        f"ValueError: boom\n\nAt:\n  {file}({line}): execute\n"
    ) == error.message
    assert "INTERNAL" == error.code
    assert isinstance(error.__cause__, ValueError)
    assert (error.message,) == (error.run.trace.spans[0].error,)
    assert error.message == error.run.error


def test_an_error_that_a_model_returns_keeps_its_code(server):
    """Code and text are the model's own."""
    body = """
    error = pb_utils.TritonError("no such thing", pb_utils.TritonError.NOT_FOUND)
    return [pb_utils.InferenceResponse(error=error)]
    """
    server.define("model", cell(body), config=CONFIG)

    with pytest.raises(InferenceError) as caught:
        server.infer("model", X)

    assert ("NOT_FOUND", "no such thing") == (caught.value.code, caught.value.message)


def test_statistics_count_what_happened(double):
    """As Triton's statistics do: BLS calls too, refused requests not."""
    double.define("outer", calling("double"), config=CONFIG)
    double.define("bad", cell("raise ValueError"), config=CONFIG)
    for _ in range(3):
        double.infer("outer", X)
    double.infer("double", X)
    with pytest.raises(InferenceError):
        double.infer("bad", X)
    with pytest.raises(InferenceError):
        double.infer("double", {})

    rows = {row["name"]: row for row in double.statistics()["model_stats"]}
    counts = {
        name: (
            row["inference_count"],
            row["execution_count"],
            row["inference_stats"]["success"]["count"],
            row["inference_stats"]["fail"]["count"],
            row["inference_stats"]["compute_infer"]["count"],
            row["batch_stats"][0]["compute_infer"]["count"],
        )
        for name, row in rows.items()
    }
    assert {
        "double": (4, 4, 4, 0, 4, 4),
        "outer": (3, 3, 3, 0, 3, 3),
        "bad": (0, 1, 0, 1, 0, 1),
    } == counts
    outer, inner = rows["outer"]["inference_stats"], rows["double"]["inference_stats"]
    assert outer["compute_infer"]["ns"] > 0
    assert outer["success"]["ns"] > outer["compute_infer"]["ns"]
    assert inner["success"]["ns"] > inner["compute_infer"]["ns"] > 0


def test_statistics_restart_with_every_load(double):
    """Unused counters are zero, batches empty."""
    double.infer("double", X)
    double.load("double")

    (row,) = double.statistics("double")["model_stats"]
    assert (0, 0, []) == (
        row["inference_count"],
        row["last_inference"],
        row["batch_stats"],
    )


def test_statistics_of_a_stranger(double):
    """Triton's texts."""
    with pytest.raises(InferenceError, match="requested model 'nobody' is not avail"):
        double.statistics("nobody")
    with pytest.raises(InferenceError, match="requested model version is not availab"):
        double.statistics("double", version=7)


def test_batches_count_by_their_size(server):
    """A request of three inferences is one execution."""
    config = f"{CONFIG}\nmax_batch_size: 8"
    server.define("batch", cell("return [reply(x_of(request))]"), config=config)
    server.infer("batch", {"X": np.zeros((3, 2), np.float32)})

    (row,) = server.statistics("batch")["model_stats"]
    assert (3, 1, 3) == (
        row["inference_count"],
        row["execution_count"],
        row["batch_stats"][0]["batch_size"],
    )


def test_logs_land_in_the_call_and_in_logging(server, caplog):
    """Levels in Triton's names; verbose lines only if asked for."""
    body = """
    pb_utils.Logger.log_info("one")
    pb_utils.Logger.log_warn("two")
    pb_utils.Logger.log_error("three")
    pb_utils.Logger.log_verbose("four")
    return [reply(x_of(request))]
    """
    server.define("model", cell(body), config=CONFIG)
    with caplog.at_level(logging.DEBUG, "blsnb.model.model"):
        run = server.infer("model", X)

    assert ["INFO", "WARNING", "ERROR", "VERBOSE"] == [
        line.level for line in run.trace.spans[0].logs
    ]
    assert ["one", "two", "three"] == caplog.messages
    assert [("model", "WARNING", "two")] == [
        tuple(line) for line in server.log.lines if line.level == "WARNING"
    ]


def test_events_are_in_order_and_children_lie_within_parents(double):
    """Triton's seven activities, for every call."""
    double.define("middle", calling("double"), config=CONFIG)
    double.define("outer", calling("middle"), config=CONFIG)
    spans = double.infer("outer", X).trace.spans

    assert [-1, 0, 1] == [span.parent for span in spans]
    for span in spans:
        names, times = zip(*span.events, strict=True)
        assert 7 == len(names)
        assert sorted(times) == list(times)
    for parent, child in itertools.pairwise(spans):
        assert parent.compute_input_end_ns <= child.request_start_ns
        assert child.request_end_ns <= parent.compute_output_start_ns


def test_a_failed_call_ends_within_its_parent(double):
    """An error has all its times, too."""
    double.define("bad", cell("raise ValueError"), config=CONFIG)
    double.define("outer", calling("bad"), config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        double.infer("outer", X)

    outer, bad = caught.value.run.trace.spans
    assert 7 == len(bad.events) == len(outer.events)
    assert bad.request_end_ns <= outer.request_end_ns
    assert outer.flags & outer.flags.ERROR
    assert bad.flags & bad.flags.ERROR


def test_a_call_knows_the_line_that_made_it(double):
    """Of the caller's cell; none for a request from outside."""
    source = calling("double")
    double.define("outer", source, config=CONFIG)
    spans = double.infer("outer", X).trace.spans

    assert [0, len(source.splitlines())] == [span.line for span in spans]


def test_a_refused_bls_call_is_in_the_trace(double):
    """Triton traces none, but its author must see it."""
    body = 'ask("nobody", request).exec()\nreturn [reply(x_of(request))]'
    double.define("outer", cell(body), config=CONFIG)
    spans = double.infer("outer", X).trace.spans

    assert [("outer", ""), ("nobody", "NOT_FOUND")] == [
        (span.instance.removesuffix("_0") or "nobody", span.error_code)
        for span in spans
    ]


@pytest.mark.parametrize(
    ("level", "calls", "values"),
    [("tensors", 2, True), ("timestamps", 2, False), ("off", 0, False)],
)
def test_the_trace_level_says_what_is_kept(level, calls, values):
    """Values only at the highest; nothing at the lowest, and answers at all."""
    with Server(trace_level=level) as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("outer", calling("double"), config=CONFIG)
        run = server.infer("outer", X)

    assert [2, 4] == run["Y"].tolist()
    assert calls == len(run.trace.spans)
    assert values == any(span.inputs for span in run.trace.spans)


def test_the_ring_keeps_the_last_runs():
    """A run that somebody holds remains his."""
    with Server(keep_runs=2) as server:
        server.define("double", DOUBLE, config=CONFIG)
        runs = [server.infer("double", X) for _ in range(4)]

        assert [run.id for run in runs[-2:]] == [record.id for record in server.runs]
        assert 1 == len(runs[0].trace.spans)


def test_values_are_evicted_when_the_budget_is_spent():
    """Shapes stay, and runs that were pinned keep all."""
    with Server(trace_budget_bytes=20) as server:
        server.define("double", DOUBLE, config=CONFIG)
        pinned = server.infer("double", X).keep()
        runs = [server.infer("double", X) for _ in range(2)]
        shown = [run.trace.spans[0].inputs[0] for run in (pinned, *runs)]

        assert [True, False, True] == [ref.data is not None for ref in shown]
        assert (2,) == shown[1].shape
        assert [2, 4] == runs[0]["Y"].tolist()


def test_async_infer_leaves_the_loop_free(server):
    """Several requests run side by side while the loop goes on."""
    stage.barriers["all"] = threading.Barrier(4)
    body = 'stage.barriers["all"].wait(10)\nreturn [reply(x_of(request) * 2)]'
    server.define("model", cell(body), config=instances(4))

    async def all_of_them() -> list[Run]:
        calls = [server.async_infer("model", X) for _ in range(4)]
        return await asyncio.gather(*calls)

    runs = asyncio.run(all_of_them())

    assert [[2, 4]] * 4 == [run["Y"].tolist() for run in runs]


def test_async_infer_raises_as_infer_does(server):
    """With text, code and run."""
    with pytest.raises(InferenceError, match="'nobody' is not found"):
        asyncio.run(server.async_infer("nobody", X))


def test_a_cancelled_async_infer_tells_the_model(server):
    """``is_cancelled`` turns true; the model may end as it likes."""
    body = """
    while not request.is_cancelled():
        stage.events["asleep"].set()
    stage.events["noticed"].set()
    return [reply(x_of(request))]
    """
    server.define("model", cell(body), config=CONFIG)

    async def cancelled() -> None:
        task = asyncio.create_task(server.async_infer("model", X))
        await asyncio.to_thread(stage.events["asleep"].wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert stage.events["noticed"].wait(10)


def test_the_callers_deadline_reaches_the_model(server):
    """``is_cancelled`` turns true, and the caller gets gRPC's text."""
    body = """
    while not request.is_cancelled():
        pass
    return [reply(x_of(request))]
    """
    server.define("model", cell(body), config=CONFIG)

    with pytest.raises(InferenceError) as caught:
        server.infer("model", X, client_timeout_s=0.01)

    assert ("DEADLINE_EXCEEDED", "Deadline Exceeded") == (
        caught.value.code,
        caught.value.message,
    )
    assert 1 == len(caught.value.run.trace.spans)


def test_a_deadline_that_is_kept_changes_nothing(double):
    """The answer came in time."""
    run = double.infer("double", X, client_timeout_s=60)

    assert [2, 4] == run["Y"].tolist()


def test_models_of_a_repository_on_disk(tmp_path):
    """They are read where they are, loaded by name or all at once."""
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
    """A folder for the private folders of servers, and for nothing else."""
    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_startup_model_that_fails_leaves_no_server(tmp_path, private):
    """What had been loaded by then is closed again."""
    for name, source in (("a", DOUBLE), ("b", "1 / 0")):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "1" / "model.py").write_text(source)
        (tmp_path / name / "config.pbtxt").write_text(OWN_THREAD)

    with pytest.raises(ModelLoadError, match="ZeroDivisionError"):
        Server(model_repository=tmp_path, startup_models="*")

    assert [] == list(private.iterdir())


def test_a_repository_that_is_not_there(tmp_path, private):
    """It is named, and no folder is left."""
    with pytest.raises(RepositoryError, match="is no folder of models"):
        Server(model_repository=tmp_path / "none")

    assert [] == list(private.iterdir())


def test_loading_what_is_not_there(server):
    """Triton's answer."""
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
    ],
)
def test_an_unknown_setting_is_named(options, private):
    """The error shows it, and no folder is left."""
    (value,) = options.values()

    with pytest.raises(ValueError, match=value):
        Server(**options)
    assert [] == list(private.iterdir())


def test_what_comes_later_says_so(server):
    """Never a half-truth."""
    with pytest.raises(NotYetError):
        server.stream("model", X)
    with pytest.raises(NotYetError):
        Server(model_control_mode="poll")


def test_close_ends_models_threads_and_folder():
    """And may be repeated."""
    server = Server()
    methods = 'def finalize(self):\n    stage.seen.append("finalized")\n'
    server.define("model", cell("pass", methods=methods), config=OWN_THREAD)
    folder = server.repository.private_root

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
        with pytest.raises(ServerClosedError, match="make a new blsnb"):
            use()


def test_close_lets_a_request_in_flight_end(server):
    """It is answered; its instance is finalized afterwards."""
    methods = 'def finalize(self):\n    stage.events["finalized"].set()\n\n'
    server.define("model", cell(HELD, methods=methods), config=CONFIG)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(server.infer, "model", X)
        assert stage.events["asleep"].wait(10)
        closing = pool.submit(server.close)
        stage.events["end"].set()

        assert [2, 4] == running.result(10)["Y"].tolist()
        closing.result(10)
    assert stage.events["finalized"].wait(10)


def test_a_server_that_is_used_leaves_no_file(private):
    """Neither in its own folder nor beside it, nor compiled ones."""
    with Server() as server:
        files = {"helper.py": "x = 1"}
        source = f"import helper\n{DOUBLE}"
        server.define("double", source, config=CONFIG, files=files)
        server.infer("double", X)
        names = {p.name for p in server.repository.private_root.rglob("*")}

        assert {"double", "1", "model.py", "helper.py", "config.pbtxt"} == names
    assert [] == list(private.iterdir())


def test_two_servers_are_strangers(double):
    """The same name is another model in each."""
    with Server() as other:
        other.define("double", cell("return [reply(x_of(request))]"), config=CONFIG)

        assert [1, 2] == other.infer("double", X)["Y"].tolist()
    assert [2, 4] == double.infer("double", X)["Y"].tolist()


def test_files_beside_a_model_may_come_first(server):
    """A helper written before its model is no failure."""
    server.change("model", {"1/helper.py": "FACTOR = 2"})
    source = "import helper\n" + cell("return [reply(x_of(request) * helper.FACTOR)]")
    server.define("model", source, config=CONFIG)

    assert [2, 4] == server.infer("model", X)["Y"].tolist()
