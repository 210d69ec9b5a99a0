"""Sequences, as their models and clients see them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stage
from cells import cell
from waiting import until

from blsnb import InferenceError, Run, Server, WouldHang

from ..clients import waiting

SEES = """
for each in requests:
    inputs = {tensor.name(): tensor.as_numpy() for tensor in each.inputs()}
    stage.seen.append((each.correlation_id(), each.flags(), {
        name: inputs[name].item() for name in inputs if name != "X"
    }))
if x_of(request).flat[0] < 0:
    stage.events["busy"].set()
    stage.events["go"].wait(60)
stage.values["sizes"] = [*stage.values.get("sizes", []), len(requests)]
return [reply(x_of(each)) for each in requests]
"""
CONTROLS = """
control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }
control_input { name: "END" control { kind: CONTROL_SEQUENCE_END bool_false_true: [false, true] } }
control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY fp32_false_true: [0, 1] } }
control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }
"""  # noqa: E501 - one control a line
AGAIN = cell(
    """
    runs = stage.values.setdefault("runs", {})
    key = request.correlation_id()
    runs[key] = runs.get(key, 0) + 1
    stage.seen.append((key, request.flags()))
    if runs[key] < x_of(request).flat[0]:
        request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
        return [None]
    return [reply(x_of(request) * 10)]
    """
)


def sequences(settings: str = "direct { }", size: int = 2, count: int = 1) -> str:
    """Return a configuration with a sequence batcher, for a slow machine."""
    idle = "" if "idle" in settings else "max_sequence_idle_microseconds: 60000000"
    return f"""
max_batch_size: {size}
input {{ name: "X" data_type: TYPE_FP32 dims: [ 1 ] }}
output {{ name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }}
instance_group {{ kind: KIND_CPU count: {count} }}
sequence_batching {{ {settings} {idle} }}
"""


def x(number: float) -> dict[str, np.ndarray]:
    """Return the inputs of a request with a batch of one."""
    return {"X": np.array([[number]], np.float32)}


def ask(server: Server, sequence: int | str, number: float = 1, flags: int = 0) -> Run:
    """Send a request of a sequence."""
    return server.infer(
        "model",
        x(number),
        correlation_id=sequence,
        sequence_start=bool(flags & 1),
        sequence_end=bool(flags & 2),
    )


def test_a_sequence_begins_goes_on_and_ends(server):
    """The model receives flags and control tensors."""
    server.define("model", cell(SEES), config=sequences(CONTROLS + "direct { }"))
    for flags in (1, 0, 2, 3):
        assert [[5]] == ask(server, 7, 5, flags)["Y"].tolist()

    assert [
        (7, 1, {"START": 1, "END": False, "READY": 1.0, "ID": 7}),
        (7, 0, {"START": 0, "END": False, "READY": 1.0, "ID": 7}),
        (7, 2, {"START": 0, "END": True, "READY": 1.0, "ID": 7}),
        (7, 3, {"START": 1, "END": True, "READY": 1.0, "ID": 7}),
    ] == stage.seen


@pytest.mark.parametrize(
    ("sequence", "flags", "size", "text"),
    [
        (0, 1, 1, "must specify a non-zero or non-empty correlation ID"),
        ("", 1, 1, "must specify a non-zero or non-empty correlation ID"),
        (7, 0, 1, "for sequence 7 to model 'model' must specify the START flag on"),
        (7, 1, 2, "must specify batch-size 1 due to requirements of sequence batcher"),
    ],
)
def test_requests_without_a_sequence_are_refused(server, sequence, flags, size, text):
    """The model never receives them; the texts are Triton's."""
    server.define("model", cell(SEES), config=sequences())

    with pytest.raises(InferenceError, match=text) as raised:
        server.infer(
            "model",
            {"X": np.ones((size, 1), np.float32)},
            correlation_id=sequence,
            sequence_start=bool(flags),
        )

    assert "INVALID_ARG" == raised.value.code
    assert [] == stage.seen


def test_after_its_end_a_sequence_must_start_again(server):
    """The number can be used again."""
    server.define("model", cell(SEES), config=sequences())
    ask(server, 7, flags=3)

    with pytest.raises(
        InferenceError,
        match=r"must specify the START flag on the first request of the " r"sequence$",
    ):
        ask(server, 7)


def test_slots_below_a_ready_one_are_filled_with_null_requests(server):
    """Each null request needs a response, which is dropped."""
    server.define("model", cell(SEES), config=sequences(CONTROLS + "direct { }"))
    ask(server, 7, flags=1)
    run = ask(server, 8, 4, flags=1)

    null = (0, 0, {"START": 0, "END": False, "READY": 0.0, "ID": 0})
    assert null == stage.seen[1]
    assert [1, 2] == stage.values["sizes"]
    assert [[4]] == run["Y"].tolist()
    (row,) = server.statistics("model")["model_stats"]
    assert (2, 2) == (row["inference_count"], row["execution_count"])
    assert [1, 2] == [batch["batch_size"] for batch in row["batch_stats"]]


def test_a_sequence_waits_for_a_slot(server):
    """It waits until another one ends."""
    server.define("model", cell(SEES), config=sequences(size=1))
    ask(server, 7, flags=1)
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(ask, server, 8, 8, 3)
        ask(server, 7, flags=0)
        assert not waits.done()
        ask(server, 7, flags=2)
        assert [[8]] == waits.result(60)["Y"].tolist()

    assert [7, 7, 7, 8] == [sequence for sequence, *_ in stage.seen]


def test_the_oldest_sequences_are_batched(server):
    """Waiting requests run together, at most one of each sequence."""
    config = sequences("oldest { max_candidate_sequences: 4 }", size=4)
    server.define("model", cell(SEES), config=config)
    with ThreadPoolExecutor(4) as pool:
        busy = pool.submit(ask, server, 1, -1, 1)
        assert stage.events["busy"].wait(60)
        others = []
        for sequence in (2, 3):
            others.append(pool.submit(ask, server, sequence, sequence, 1))
            while (
                f"{len(others)}"
                != server.metrics()
                .split(
                    'nv_inference_pending_request_count{model="model",version="1"} '
                )[1]
                .split("\n")[0]
            ):
                pass
        stage.events["go"].set()
        assert [2, 3] == [other.result(60)["Y"].item() for other in others]
        busy.result(60)

    assert [1, 2] == stage.values["sizes"]


def test_the_next_request_of_an_executed_sequence_joins_the_waiting_batch(server):
    """On Triton two threads race for this; it joined in 52 of 75 tries."""
    config = sequences("oldest { max_candidate_sequences: 4 }", size=4)
    server.define("model", cell(SEES), config=config)
    with ThreadPoolExecutor(3) as pool:
        busy = pool.submit(ask, server, 1, -1, 1)
        assert stage.events["busy"].wait(60)
        others = []
        for number, sequence in enumerate((2, 1), 1):
            others.append(pool.submit(ask, server, sequence, sequence, sequence - 1))
            assert until(lambda number=number: number == waiting(server))
        stage.events["go"].set()
        assert [2, 1] == [other.result(60)["Y"].item() for other in others]
        busy.result(60)

    assert [1, 2] == stage.values["sizes"]


def test_all_requests_of_a_sequence_run_on_one_instance(server):
    """Two sequences use two instances."""
    server.define("model", cell(SEES), config=sequences(size=1, count=2))
    where = [
        (sequence, ask(server, sequence, flags=flags).trace.spans[0].instance)
        for sequence, flags in ((1, 1), (2, 1), (2, 0), (1, 0), (1, 2), (2, 2))
    ]

    assert {1: 1, 2: 1} == {
        sequence: len({instance for number, instance in where if number == sequence})
        for sequence in (1, 2)
    }
    assert 2 == len({instance for _, instance in where})


def test_an_idle_sequence_loses_its_slot(server):
    """It must start again."""
    settings = "max_sequence_idle_microseconds: 1 direct { }"
    server.define("model", cell(SEES), config=sequences(settings))
    ask(server, 7, flags=1)

    with pytest.raises(
        InferenceError,
        match=r"must specify the START flag on the first request of the " r"sequence$",
    ):
        ask(server, 7)


def test_iterations_of_several_requests_share_an_execute(server):
    """Each is rescheduled until it completes, with its own sequence id."""
    config = sequences("iterative_sequence: true oldest { max_candidate_sequences: 4 }")
    server.define("model", AGAIN, config=config)

    assert [[30]] == server.infer("model", x(3))["Y"].tolist()
    assert [[20]] == server.infer("model", x(2))["Y"].tolist()
    assert [(1, 1), (1, 0), (1, 0), (2, 1), (2, 0)] == stage.seen
    (row,) = server.statistics("model")["model_stats"]
    assert (5, 5) == (row["inference_count"], row["execution_count"])


def test_a_request_to_an_iterative_model_may_name_its_sequence(server):
    """It must have the START flag itself, and takes no number."""
    config = sequences("iterative_sequence: true oldest { max_candidate_sequences: 4 }")
    server.define("model", AGAIN, config=config)

    server.infer("model", x(1), correlation_id=77, sequence_start=True)
    with pytest.raises(InferenceError, match="must specify the START flag"):
        server.infer("model", x(1), correlation_id=78)
    server.infer("model", x(1), sequence_end=True)

    assert [(77, 1), (1, 1)] == stage.seen


def test_a_request_that_is_rescheduled_too_late_is_never_answered(server):
    """Its sequence was idle for too long: Triton logs that and drops it."""
    config = sequences("iterative_sequence: true max_sequence_idle_microseconds: 1")
    server.define("model", AGAIN, config=config)

    with pytest.raises(WouldHang, match="must specify the START flag") as raised:
        server.infer("model", x(3))

    assert "max_sequence_idle_microseconds" in raised.value.advice


def test_ctrl_c_takes_a_sequence_out_of_the_backlog(server, ctrl_c):
    """The sequence with the slot continues, and the next one gets it."""
    server.define("model", cell(SEES), config=sequences(size=1))
    ask(server, 7, flags=1)
    stage.events["busy"].set()
    ctrl_c.expect(lambda: ask(server, 8, 8, 3), event="busy")

    assert [[1]] == ask(server, 7, flags=2)["Y"].tolist()
    assert [[9]] == ask(server, 9, 9, 3)["Y"].tolist()
    assert [7, 7, 9] == [sequence for sequence, *_ in stage.seen]


def test_a_model_may_be_part_of_a_sequence_by_bls(server):
    """It sets the flags; a refusal has Triton's text."""
    server.define("model", cell(SEES), config=sequences())
    asks = cell(
        """
        flags = int(x_of(request).flat[0])
        response = ask("model", request, correlation_id=7, flags=flags).exec()
        if response.has_error():
            stage.seen.append(response.error().message())
        return [reply(x_of(request))]
        """
    )
    server.define("asks", asks, config=sequences().split("sequence_batching")[0])
    server.infer("asks", x(0))
    server.infer("asks", x(1))

    assert (
        "Model model - Error when running inference: inference request for sequence 7 "
        "to model 'model' must specify the START flag on the first request of the "
        "sequence"
    ) == stage.seen[0]
    assert (7, 1) == stage.seen[1][:2]


def test_a_refused_request_began_before_it_was_queued(server):
    """Its record has the times before the refusal."""
    server.define("m", cell("return [reply(x_of(request))]"), config=sequences())

    with pytest.raises(InferenceError) as refused:
        server.infer("m", x(1))

    [span] = refused.value.run.trace.spans
    names, times = zip(*span.events, strict=True)
    assert ("REQUEST_START", "QUEUE_START", "REQUEST_END") == names
    assert sorted(times) == list(times)
