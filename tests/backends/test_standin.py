"""Stand-ins replace models whose backend is not available, and are marked."""

from __future__ import annotations

import contextlib
import re
import signal
import string

import numpy as np
import pytest
from asserting import every
from cells import CONFIG, DOUBLE, FINAL, TRIPLE, cell

from blsnb import Server
from blsnb.errors import InferenceError, ModelLoadError, RepositoryError
from blsnb.magics import card
from blsnb.parts.server_parts import parts_of
from blsnb.views.pictures.snapshot import snapshot as picture
from blsnb.views.tree import tree

TENSORRT = """
backend: "tensorrt"
max_batch_size: 8
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""
X = {"X": np.array([[1, 2, 3]], np.float32)}


def put(server, config=TENSORRT, name="leaf"):
    """Write a model of a backend that is not available."""
    parts_of(server).models.change(name, {"config.pbtxt": config, "1/model": "x"})


@pytest.fixture
def stood(server):
    """A server with a stand-in for the model ``leaf``."""
    put(server)
    server.standin("leaf", zeros=True)
    return server


def test_zeros_have_the_configured_type_and_shape(server):
    """Variable dimensions are those of an input with the same rank, else 1."""
    more = """
output { name: "B" data_type: TYPE_BOOL dims: [ 2 ] }
output { name: "T" data_type: TYPE_STRING dims: [ 1, -1 ] }
output { name: "H" data_type: TYPE_BF16 dims: [ 1 ] }
output { name: "I" data_type: TYPE_INT64 dims: [ 1 ] reshape { shape: [] } }
"""
    put(server, TENSORRT + more)
    status = server.standin("leaf", zeros=True)

    outputs = server.infer("leaf", {"X": np.ones((2, 3), np.float32)}).outputs

    assert "zeros" == status.standin
    assert {
        "Y": ("float32", (2, 3)),
        "B": ("bool", (2, 2)),
        "T": ("object", (2, 1, 1)),
        "H": ("float32", (2, 1)),
        "I": ("int64", (2, 1)),
    } == {name: (each.dtype.name, each.shape) for name, each in outputs.items()}
    assert [[[b""]], [[b""]]] == outputs["T"].tolist()
    assert not any(outputs[name].any() for name in "YBHI")


def test_random_responses_to_equal_requests_are_equal(server):
    """A different seed or request gives different responses."""
    more = 'output { name: "T" data_type: TYPE_STRING dims: [ 100 ] }'
    more += 'output { name: "I" data_type: TYPE_INT8 dims: [ 2000 ] }'
    more += 'output { name: "B" data_type: TYPE_BOOL dims: [ 50 ] }'
    more += 'output { name: "H" data_type: TYPE_BF16 dims: [ 50 ] }'
    put(server, TENSORRT + more)
    other = {"X": np.array([[1, 2, 4]], np.float32)}
    answers = []
    for seed in (1, 1, 2):
        server.standin("leaf", random=seed)
        answers += [server.infer("leaf", each).outputs for each in (X, other)]
    seen = [str(each) for each in answers]

    assert seen[0:2] == seen[2:4]
    assert 4 == len(set(seen))
    for name in "YH":
        assert (answers[0][name] >= 0).all()
        assert (answers[0][name] < 1).all()
        assert len(set(answers[0][name].ravel())) > 2
    assert set(range(100)) == set(answers[0]["I"].ravel())
    assert {False, True} == set(answers[0]["B"].ravel())
    strings = answers[0]["T"].ravel()
    assert every(re.fullmatch(rb"[a-z]{8}", each) for each in strings)
    assert set(string.ascii_lowercase.encode()) == set(b"".join(strings))


def test_a_function_can_be_a_stand_in(server):
    """It may change its arrays; its values take the configured type."""
    put(server)
    given = []

    def doubled(inputs):
        given.append(inputs)
        inputs["X"] *= 2
        return {"Y": inputs["X"].tolist()}

    status = server.standin("leaf", call=doubled)

    assert "call doubled" == status.standin
    assert [[2, 4, 6]] == server.infer("leaf", X)["Y"].tolist()
    assert [["X"]] == [list(each) for each in given]
    assert [[1, 2, 3]] == X["X"].tolist()


def test_a_function_that_fails_fails_its_request(server):
    """The traceback contains its line; invalid outputs are named."""
    put(server)
    returned = {}

    def function(inputs):
        return 1 / 0 if returned["it"] is None else returned["it"]

    server.standin("leaf", call=function)
    seen = []
    for each in (None, [1], {"Y": object()}):
        returned["it"] = each
        with pytest.raises(InferenceError) as caught:
            server.infer("leaf", X)
        seen.append(caught.value.message)

    start = (
        "Failed to process the request(s) for model 'leaf_0', message: "
        "ZeroDivisionError: division by zero\n\nAt:\n"
    )
    assert seen[0].startswith(start)
    assert seen[0].endswith("): function\n")
    assert [
        "the function function of a stand-in must return a dict of outputs, not list"
    ] == seen[1:2]
    assert seen[2].startswith("the function function of a stand-in: output 'Y'")


def test_ctrl_c_ends_a_function_and_the_request(server):
    """The next request succeeds."""
    put(server)
    reached = []

    def function(inputs):
        if not reached:
            reached.append("begin")
            signal.raise_signal(signal.SIGINT)
        reached.append("end")
        return {"Y": inputs["X"]}

    server.standin("leaf", call=function)
    with pytest.raises(KeyboardInterrupt):
        server.infer("leaf", X)

    assert ["begin"] == reached
    assert [[1, 2, 3]] == server.infer("leaf", X)["Y"].tolist()


@pytest.mark.parametrize(("size", "shape"), [(8, (1, 1)), (0, (1,))])
def test_a_number_of_a_function_has_each_axis_of_the_output(server, size, shape):
    """That of batches, too, if the model has any."""
    put(server, TENSORRT.replace("max_batch_size: 8", f"max_batch_size: {size}"))
    server.standin("leaf", call=lambda inputs: {"Y": 7})
    found = server.infer("leaf", {"X": np.ones(shape, np.float32)})["Y"]

    assert (shape, 7) == (found.shape, found.item())


def test_a_generator_can_stand_in_for_a_decoupled_model(server):
    """Each dict is a response; zeros are one response."""
    decoupled = "model_transaction_policy { decoupled: true }"
    put(server, TENSORRT + decoupled)

    def twice(inputs):
        yield {"Y": inputs["X"]}
        yield {"Y": inputs["X"] + 1}

    server.standin("leaf", call=twice)
    streams = [list(server.stream("leaf", X))]
    server.standin("leaf", zeros=True)
    streams.append(list(server.stream("leaf", X)))

    assert [[[[1, 2, 3]], [[2, 3, 4]]], [[[0, 0, 0]]]] == [
        [each["Y"].tolist() for each in stream if each.outputs] for stream in streams
    ]
    assert every(stream[-1].final for stream in streams)


def test_recorded_responses_are_repeated(server):
    """Requests are identified by the bytes of their inputs."""
    put(server)
    counted = iter(range(1, 9))
    server.standin("leaf", call=lambda inputs: {"Y": inputs["X"] * next(counted)})
    runs = [server.infer("leaf", X) for _ in range(2)]

    status = server.standin("leaf", replay=runs)
    answers = [server.infer("leaf", X)["Y"].tolist() for _ in range(3)]
    with pytest.raises(InferenceError) as caught:
        server.infer("leaf", {"X": [[9, 9, 9]]})

    assert f"replay of run {runs[0].id}, {runs[1].id}" == status.standin
    assert [[[1, 2, 3]], [[2, 4, 6]], [[2, 4, 6]]] == answers
    assert "NOT_FOUND" == caught.value.code
    assert (
        "the stand-in for 'leaf' has no response to these inputs; run "
        f"{runs[0].id}, {runs[1].id} recorded responses to 1 other set of inputs"
        == caught.value.message
    )


def test_a_run_without_tensors_has_no_responses_to_repeat():
    """The error does not count its call as one with other inputs."""
    with Server(trace_level="timestamps") as server:
        put(server)
        server.standin("leaf", zeros=True)
        run = server.infer("leaf", X)
        server.standin("leaf", replay=run)
        with pytest.raises(InferenceError) as caught:
            server.infer("leaf", X)

    assert (
        f"run {run.id} recorded responses to 0 other sets of inputs. "
        f"Run {run.id} lacks values of 1 call of this model"
    ) in caught.value.message


def test_recorded_errors_and_streams_are_repeated(server):
    """The error of an unknown request counts calls without values."""
    put(server, TENSORRT + "model_transaction_policy { decoupled: true }")

    def function(inputs):
        if not inputs["X"].any():
            raise ValueError("zeros")
        yield {"Y": inputs["X"]}
        yield {"Y": inputs["X"] * 2}

    server.standin("leaf", call=function)
    streams = [server.stream("leaf", inputs) for inputs in (X, {"X": [[0, 0, 0]]})]
    answers = [list(stream) for stream in streams]
    server.standin("leaf", replay=[stream.run for stream in streams])
    again = [list(server.stream("leaf", inputs)) for inputs in (X, {"X": [[0, 0, 0]]})]

    def plain(stream):
        return [
            each.error or each["Y"].tolist()
            for each in stream
            if each.outputs or each.error
        ]

    assert [[[1, 2, 3]], [[2, 4, 6]]] == plain(again[0])
    assert list(map(plain, answers)) == list(map(plain, again))
    assert "ValueError: zeros" in plain(again[1])[0]
    assert [True] == [each.final for each in again[1]]


def test_missing_values_of_a_run_are_reported(server):
    """A call without its values has no response to repeat."""
    parts_of(server).recorder.budget_bytes = 0
    put(server)
    server.standin("leaf", zeros=True)
    run = server.infer("leaf", X)
    server.standin("leaf", replay=run)
    words = rf"Run {run.id} lacks values of 1 call .*: trace_budget_bytes=0 .*run\.keep"
    with pytest.raises(InferenceError, match=words):
        server.infer("leaf", X)


def test_reshaped_tensors_have_the_clients_shapes(server):
    """A stand-in ignores the reshape of a tensor."""
    config = """
backend: "tensorrt"
input { name: "X" data_type: TYPE_FP32 dims: [ 1, 4 ] reshape { shape: [ 2, 2 ] } }
output { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] reshape { shape: [ 1, 4, 1 ] } }
"""
    put(server, config)
    shapes = []

    def function(inputs):
        shapes.append(inputs["X"].shape)
        return {"Y": inputs["X"].ravel()}

    server.standin("leaf", call=function)
    run = server.infer("leaf", {"X": [[1, 2, 3, 4]]})

    assert [(1, 4)] == shapes
    assert [1, 2, 3, 4] == run["Y"].tolist()
    assert [] == run.notes


def test_a_stand_in_is_marked_in_every_view(stood):
    """Card, table, repr, graph and the text of a run mark it."""
    status = stood.model("leaf")
    run = stood.infer("leaf", X)
    [model] = run.trace.models

    assert "<leaf version 1 READY (stand-in: zeros): " in repr(status)
    assert "version 1 READY, stand-in: zeros" in card.text(status)
    shown = card.bundle(status)["text/html"]
    assert "stand-in: zeros" in shown
    assert "#b54708" in shown
    assert "READY, stand-in" in card.table([status])["text/plain"]
    assert ("stand-in", "stand-in", "tensorrt") == (
        model.kind,
        model.device,
        model.backend,
    )
    assert "  leaf (stand-in)  " in tree(run.trace)
    assert ">stand-in</text>" in picture(run.trace)


def test_requests_to_a_stand_in_are_validated(stood):
    """The configuration and its scheduler apply."""
    with pytest.raises(InferenceError, match=r"Expected \[-1,-1\], got \[3\]"):
        stood.infer("leaf", {"X": np.ones(3, np.float32)})
    with pytest.raises(InferenceError, match="data-type is 'INT32', but model 'leaf'"):
        stood.infer("leaf", {"X": np.ones((1, 3), np.int32)})


def test_a_python_model_can_call_a_stand_in(stood):
    """The call has a span of its own."""
    ask = """
response = pb_utils.InferenceRequest(
    model_name="leaf",
    inputs=[pb_utils.Tensor("X", x_of(request)[None])],
    requested_output_names=["Y"],
).exec()
return [reply(answer_of(response)[0] + 1)]
"""
    stood.define("caller", cell(ask), config=CONFIG)
    run = stood.infer("caller", {"X": [5.0, 6.0]})

    assert [1, 1] == run["Y"].tolist()
    assert [("caller", -1), ("leaf", 0)] == [
        (run.trace.models[span.model].name, span.parent) for span in run.trace.spans
    ]


def test_a_stand_in_ends_when_a_model_unloads_it(stood):
    """The backend is missing again."""
    code = 'pb_utils.unload_model("leaf")\nreturn [reply(x_of(request))]'
    stood.define("unloads", cell(code), config=CONFIG)

    stood.infer("unloads", {"X": np.zeros(1, np.float32)})

    assert "" == stood.model("leaf").standin
    with pytest.raises(ModelLoadError, match="unable to find backend library"):
        stood.load("leaf")


def test_an_import_recommends_a_stand_in(server, tmp_path):
    """The advice is in the status, on the card and in the table."""
    put_in = tmp_path / "models" / "leaf"
    (put_in / "1").mkdir(parents=True)
    (put_in / "config.pbtxt").write_text(TENSORRT)

    [status] = server.import_repository(tmp_path / "models")

    assert "UNAVAILABLE" == status.state
    assert "%triton standin leaf --zeros" in status.what_helps()
    assert status.what_helps() in card.text(status)
    assert status.what_helps() in card.table([status])["text/plain"].replace(
        " · ", "\n"
    )


def test_a_stand_in_serves_until_the_model_is_unloaded(stood):
    """A reload keeps it; afterwards the backend is missing again."""
    stood.load("leaf", config=stood.config("leaf"))
    assert "zeros" == stood.model("leaf").standin
    stood.unload("leaf")
    assert "" == stood.model("leaf").standin
    with pytest.raises(ModelLoadError, match="unable to find backend library"):
        stood.load("leaf")


def test_a_stand_in_ends_when_the_model_is_defined(stood):
    """A model that fails to load changes nothing."""
    with pytest.raises(ModelLoadError):
        stood.define("leaf", "import nothing_of_that_name", config=CONFIG)
    assert "zeros" == stood.model("leaf").standin

    stood.define("leaf", DOUBLE, config=CONFIG)

    assert "" == stood.model("leaf").standin
    assert [2, 4] == stood.infer("leaf", {"X": np.array([1, 2], np.float32)})[
        "Y"
    ].tolist()


def test_a_stand_in_for_an_unknown_model_needs_a_configuration(server):
    """The advice asks for one."""
    with pytest.raises(ModelLoadError, match="not found in any") as caught:
        server.standin("nobody", zeros=True)

    assert (
        "Known models: none. A stand-in takes inputs and outputs from the "
        "configuration of 'nobody': write it (%%triton_config nobody), or import it."
        == caught.value.advice
    )


def test_a_failed_stand_in_changes_nothing(stood):
    """The previous one continues to serve."""
    put(stood, 'backend: "other"', "silent")
    with pytest.raises(ModelLoadError) as caught:
        stood.standin("silent", zeros=True)
    assert (
        "the configuration of 'silent' has no outputs for a stand-in"
        in caught.value.message
    )
    assert (
        "Write inputs and outputs into its config.pbtxt; on Triton they may come from "
        "the model's own file."
    ) == caught.value.advice
    assert "" == stood.model("silent").standin
    with pytest.raises(ModelLoadError):
        stood.standin("nowhere", zeros=True)
    for ways in ({}, {"zeros": True, "random": 1}):
        with pytest.raises(
            ValueError,
            match=r"pass exactly one of zeros=True, random=SEED, "
            r"replay=RUN, call=FUNCTION, remote=ADDRESS$",
        ):
            stood.standin("leaf", **ways)
    assert "zeros" == stood.model("leaf").standin


def test_a_stand_in_needs_neither_a_device_nor_a_file(server):
    """Instance groups are kept without their GPUs."""
    groups = "instance_group { count: 2 kind: KIND_GPU gpus: [ 0, 1 ] profile: 'p' }"
    parts_of(server).models.change("leaf", {"config.pbtxt": TENSORRT + groups})

    status = server.standin("leaf", zeros=True)

    assert ((1,), 2) == (status.versions, status.instance_count)
    assert [[0, 0, 0]] == server.infer("leaf", X)["Y"].tolist()


def test_an_export_omits_stand_ins(stood, tmp_path):
    """The export of a single one is refused; that of all models has a note."""
    stood.define("double", DOUBLE, config=CONFIG)
    with pytest.raises(RepositoryError, match=r"a stand-in replaces it \(zeros\)"):
        stood.export_repository(tmp_path / "named", ["leaf"])

    done = stood.export_repository(tmp_path / "all")

    assert ("double",) == done.models
    assert any("leaf: a stand-in replaces it" in note for note in done.notes)
    assert not (tmp_path / "all" / "leaf").exists()


def test_an_ensemble_of_stand_ins_runs(stood):
    """The composing models are ready."""
    ensemble = """
platform: "ensemble"
max_batch_size: 8
input { name: "A" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "B" data_type: TYPE_FP32 dims: [ -1 ] }
ensemble_scheduling { step { model_name: "leaf" model_version: -1
  input_map { key: "X" value: "A" } output_map { key: "Y" value: "B" } } }
"""
    parts_of(stood).models.change("whole", {"config.pbtxt": ensemble, "1/.keep": ""})
    stood.load("whole")

    run = stood.infer("whole", {"A": [[1, 2]]})

    assert [[0, 0]] == run["B"].tolist()
    with pytest.raises(ModelLoadError) as refused:
        stood.standin("whole", zeros=True)
    assert (
        "an ensemble has no backend: 'whole' consists of models, and a stand-in can "
        "replace each of them"
    ) == str(refused.value)


def y_of(server) -> list[float]:
    """Return the output of the leaf."""
    return server.infer("leaf", {"X": np.array([1, 2], np.float32)})["Y"].tolist()


def test_a_stand_in_of_a_block_ends_with_it(server):
    """The model serves again with its own state, whatever the block raised."""
    server.define("leaf", DOUBLE, config=CONFIG)
    five_times = server.standing_in("leaf", call=lambda inputs: {"Y": inputs["X"] * 5})
    with contextlib.suppress(RuntimeError), five_times as status:
        answered = y_of(server)
        raise RuntimeError

    assert "call <lambda>" == status.standin
    assert ([5, 10], [2, 4]) == (answered, y_of(server))
    assert "" == server.model("leaf").standin


def test_stand_ins_of_blocks_nest(server):
    """The end of the inner block restores the outer stand-in."""
    server.define("leaf", DOUBLE, config=CONFIG)
    with server.standing_in("leaf", zeros=True):
        with server.standing_in("leaf", call=lambda inputs: {"Y": inputs["X"] * 5}):
            inner = y_of(server)
        outer = y_of(server)

    assert ([5, 10], [0, 0], [2, 4]) == (inner, outer, y_of(server))


def test_a_model_that_was_not_ready_is_not_ready_after_the_block(server):
    """The index agrees."""
    put(server)
    with server.standing_in("leaf", zeros=True):
        assert "READY" == server.model("leaf").state

    assert "UNAVAILABLE" == server.model("leaf").state


def test_changes_of_a_model_in_the_block_are_kept(server):
    """It may be defined or unloaded, and the server may be closed."""
    server.define("leaf", DOUBLE, config=CONFIG)
    with server.standing_in("leaf", zeros=True):
        server.define("leaf", TRIPLE, config=CONFIG)
    assert [3, 6] == y_of(server)

    with server.standing_in("leaf", zeros=True):
        server.unload("leaf")
    assert "UNAVAILABLE" == server.model("leaf").state

    with server.standing_in("leaf", zeros=True):
        server.close()


def test_the_advice_for_vllm_is_a_configuration(stood):
    """Its backend declares the tensors on Triton; a stand-in needs them here."""
    put(stood, 'backend: "vllm"', "llm")
    with pytest.raises(ModelLoadError) as caught:
        stood.standin("llm", zeros=True)
    advice, text = caught.value.advice.split(":\n", 1)
    assert (
        "On Triton vLLM's backend adds them to the configuration; here write those "
        "that you use into its config.pbtxt"
    ) == advice
    put(stood, f'backend: "vllm"\n{text}', "llm")
    stood.standin("llm", zeros=True)

    responses = stood.stream("llm", {"text_input": ["hello"]})
    assert [["text_output"], []] == [list(each.outputs) for each in responses]


ANSWERS = """
x = x_of(request)
if not x.any():
    code = pb_utils.TritonError.NOT_FOUND
    answer = pb_utils.InferenceResponse([], pb_utils.TritonError("no", code))
else:
    tensors = [pb_utils.Tensor("Y", x)]
    answer = pb_utils.InferenceResponse(tensors, parameters={"n": 3})
"""
RETURNED = f"{ANSWERS}return [answer]"
SENT = f"{ANSWERS}request.get_response_sender().send(answer, flags={FINAL})"


@pytest.mark.parametrize(
    ("body", "more"),
    [(RETURNED, ""), (SENT, "model_transaction_policy { decoupled: true }")],
    ids=["one response", "a stream"],
)
def test_parameters_and_codes_of_recorded_responses_are_repeated(server, body, more):
    """The text for other inputs counts the recorded ones."""
    server.define("m", cell(body), config=CONFIG + more)

    def ask(*values):
        stream = server.stream("m", {"X": np.array(values, np.float32)})
        found = [
            ({**each.outputs}, each.error, each.parameters)
            for each in stream
            if each.outputs or each.error
        ]
        (call,) = stream.run.trace.spans
        return found, (call.error or "").partition("\n")[0], call.error_code, stream.run

    recorded = [ask(1, 2), ask(0, 0)]
    server.standin("m", replay=[run for *_, run in recorded])
    *repeated, other = [ask(1, 2), ask(0, 0), ask(3)]

    assert str([each[:3] for each in recorded]) == str([each[:3] for each in repeated])
    assert {"n": 3} == repeated[0][0][0][2]
    assert "NOT_FOUND" == repeated[1][2]
    runs = ", ".join(run.id for *_, run in recorded)
    assert (
        "the stand-in for 'm' has no response to these inputs; run "
        f"{runs} recorded responses to 2 other sets of inputs"
    ) in other[1]


def test_the_first_eight_replayed_runs_are_named(stood):
    """The others are counted."""
    run = stood.infer("leaf", X)
    for count, more in ((8, ""), (9, " and 1 more")):
        status = stood.standin("leaf", replay=[run] * count)
        assert f"replay of run {', '.join([run.id] * 8)}{more}" == status.standin
