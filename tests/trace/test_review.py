"""What a reviewer would say of a run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from blsnb.request_fields import RequestFields
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import freeze
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, CallFlag, ModelInfo
from blsnb.trace.review import review, reviewed
from blsnb.trace.spans import Trace

PIPELINE = ModelInfo("pipeline", 1, "python", "cpu", "model", "")
CROP = ModelInfo("crop", 1, "python", "cpu", "model", "")


def call(
    model: ModelInfo,
    parent: Call | None,
    start: int,
    end: int,
    queued: int = 0,
    instance: str = "crop_0",
) -> Call:
    """Return a call; times are microseconds."""
    made = Call(model, parent, 0)
    made.line = 7
    made.instance = instance
    made.request_start_ns = made.queue_start_ns = start * 1000
    made.compute_start_ns = (start + queued) * 1000
    made.request_end_ns = end * 1000
    return made


def trace(*children: tuple[int, ...]) -> Trace:
    """Return the trace of a pipeline and the calls that it made."""
    root = call(PIPELINE, None, 1, 101, instance="pipeline_0")
    calls = [call(CROP, root, *child) for child in children]
    return trace_of("run", [root, *calls], 102_000)


def notes(trace: Trace) -> dict[int, list[str]]:
    """Return the notes of a review."""
    return review(trace.spans, trace.models)


def test_calls_made_one_after_the_other_may_be_a_missed_gather():
    """Three calls of one line and model that take much of the time get a note."""
    found = notes(trace((2, 20), (21, 40), (41, 60)))

    (text,) = found[0]
    assert [0] == list(found)
    assert (
        "3 calls of crop at model.py:7 were made one after the other and took 56 µs in "
        "all. If they are independent, run them concurrently: await asyncio.gather("
        "*(r.async_exec() for r in requests))." == text
    )


def test_overlapping_calls_have_no_note():
    """They ran concurrently."""
    assert {} == notes(trace((2, 40), (3, 41), (4, 42)))


def test_gathered_calls_that_ran_one_after_the_other_have_no_note():
    """The model did not wait for them one by one."""
    ran = trace((2, 20), (21, 40), (41, 60))
    gathered = [
        dataclasses.replace(span, flags=CallFlag.ASYNC | CallFlag.CONCURRENT)
        for span in ran.spans[2:]
    ]

    assert {} == review((*ran.spans[:2], *gathered), ran.models)


def test_short_calls_have_no_note():
    """They take hardly any time of their caller."""
    assert {} == notes(trace((2, 3), (4, 5), (6, 7)))


def test_a_chain_of_calls_has_no_note():
    """A call with an earlier one's output must wait for it."""
    made = trace((2, 20), (21, 40), (41, 60))
    value = tensor([1, 2])
    spans = list(made.spans)
    spans[1] = dataclasses.replace(spans[1], outputs=(value,))
    spans[2] = dataclasses.replace(spans[2], inputs=(value,))

    assert {} == review(spans, made.models)


def tensor(values, datatype="INT8"):
    """Return a frozen value of its own."""
    dtype = BY_DATATYPE[datatype]
    assert dtype.dtype is not None
    return freeze("X", np.array(values, dtype.dtype), dtype)


def has_note(*calls):
    """Whether a loop of calls, each with its input and output, has a note."""
    made = trace((2, 20), (21, 40), (41, 60))
    root, *spans = made.spans
    rows = [
        dataclasses.replace(span, inputs=(given,), outputs=(answer,))
        for span, (given, answer) in zip(spans, calls, strict=True)
    ]
    return bool(review([root, *rows], made.models))


@pytest.mark.parametrize(
    ("datatype", "shape"), [("INT8", [2]), ("INT8", [1, 2]), ("FP16", [2])]
)
def test_a_chain_of_copied_outputs_has_no_note(datatype, shape):
    """Also in another shape or type: the model copies what it received."""
    steps = [[1, 2], [3, 4], [5, 6], [7, 8]]
    inputs = [tensor(np.reshape(step, shape), datatype) for step in steps]

    assert not has_note(*zip(inputs, map(tensor, steps[1:]), strict=False))


def test_values_that_are_equal_by_chance_are_no_chain():
    """Every call of a chain follows the call before it."""
    steps = [([1, 2], [3, 4]), ([3, 4], [5, 6]), ([0, 0], [1, 1])]

    assert has_note(*[map(tensor, step) for step in steps])


def test_equal_inputs_are_no_chain():
    """Neither of a model that returns what it receives, nor of one that returns 0."""
    value, zeros = tensor([1, 2]), tensor([0, 0])

    assert has_note(*[(value, value)] * 3)
    assert has_note(*[(tensor([0, 0]), zeros)] * 3)


@pytest.mark.parametrize(
    "inputs",
    [
        [[[1, 2]], [[1, 2, 7]], [[1, 2, 7, 3]]],
        [np.zeros((1, 2, 5 + n, 4)) for n in range(3)],
    ],
    ids=["tokens", "keys of earlier tokens"],
)
def test_a_growing_input_is_a_chain(inputs):
    """Each call of a generating model adds to what the ones before it returned."""
    assert not has_note(*[(tensor(each), tensor([9])) for each in inputs])


@pytest.mark.parametrize("inputs", [(2, 4, 7), (4, 3, 2), (2, 2, 2)])
def test_inputs_of_other_sizes_are_no_chain(inputs):
    """Chunks may have any size."""
    calls = [(tensor(range(size)), tensor([9])) for size in inputs]

    assert has_note(*calls)


def test_a_text_that_is_continued_is_a_chain():
    """A prompt and what was generated so far."""
    answer = text("…")

    assert not has_note(*[(text(each), answer) for each in ("a", "a b", "a b c")])
    assert has_note(*[(text(each), answer) for each in ("a", "a b", "b c d")])
    assert has_note(*[(text("a"), answer)] * 3)


def text(value):
    """Return a frozen text."""
    return freeze("X", np.array([value.encode()], np.object_), BY_DATATYPE["BYTES"])


def test_flags_share_no_memory():
    """Python shares bytes of length 1."""
    assert has_note(*[(tensor([n]), tensor([1])) for n in (0, 1, 2)])


@pytest.mark.parametrize(
    "answers",
    [[["3", "4"], ["5", "6"]], [[3.0, 4.0, 5.0], [5.0, 6.0, 7.0]]],
    ids=["texts", "another size"],
)
def test_outputs_that_cannot_be_copied_to_the_input_are_no_chain(answers):
    """Numbers are no copies of texts, and all elements are compared."""
    kind = "BYTES" if isinstance(answers[0][0], str) else "FP32"
    outputs = [tensor(each, kind) for each in (*answers, answers[0])]
    inputs = [tensor(each) for each in ([1, 2], [3, 4], [5, 6])]

    assert has_note(*zip(inputs, outputs, strict=True))


def test_calls_of_one_sequence_have_no_note():
    """Their model requires the order; calls of several sequences get a note."""
    made = trace((2, 20), (21, 40), (41, 60))
    one, several = (
        [
            dataclasses.replace(
                span, request_fields=RequestFields(correlation_id=number)
            )
            for span, number in zip(made.spans, numbers, strict=True)
        ]
        for numbers in ((0, 7, 7, 7), (0, 7, 8, 9))
    )

    assert {} == review(one, made.models)
    assert [0] == list(review(several, made.models))


def test_many_calls_that_wait_for_the_only_instance_have_a_note():
    """The note is on the call that was served last."""
    found = notes(trace(*[(2 + n, 90, 30 + n) for n in range(8)]))

    assert [8] == list(found)
    assert [
        "8 calls of crop waited at once for its only instance. With more (--instances, "
        "or instance_group { count: … }) they run side by side."
    ] == found[8]


def test_the_note_recommends_a_batcher_to_a_model_with_max_batch_size():
    """Without a batcher max_batch_size has no effect."""
    made = trace(*[(2 + n, 90, 30 + n) for n in range(8)])
    batches = [each._replace(unbatched=4) for each in made.models]

    [text] = review(made.spans, batches)[8]
    assert text.endswith(
        "they run side by side. It takes batches of up to 4, and without "
        "dynamic_batching each request is executed alone: with it (--dynamic-batching, "
        "or dynamic_batching { }) those of one shape that wait are executed together."
    )
    assert "dynamic_batching" not in review(made.spans, made.models)[8][0]


def test_calls_that_wait_for_several_instances_have_no_note():
    """The author chose their number."""
    made = trace(*[(2 + n, 90, 30 + n) for n in range(8)])
    spans = [
        dataclasses.replace(span, instance=f"crop_{span.index % 2}")
        for span in made.spans
    ]

    assert {} == review(spans, made.models)


def test_a_model_that_ran_on_after_its_client_left_has_a_note():
    """Unless it asked, failed, was called by a model, or has a note about that."""
    made = trace((2, 20))
    root = dataclasses.replace(
        made.spans[0], flags=CallFlag.CANCELLED, compute_end_ns=100_000
    )
    others = [
        dataclasses.replace(root, flags=CallFlag.CANCELLED | CallFlag.ASKED_CANCELLED),
        dataclasses.replace(root, flags=CallFlag.CANCELLED | CallFlag.ERROR),
        dataclasses.replace(root, compute_end_ns=0),
        dataclasses.replace(root, parent=0),
        dataclasses.replace(root, notes=("known",)),
    ]
    onnx = PIPELINE._replace(backend="onnxruntime")

    assert {
        0: [
            "The client left while pipeline was running, and the model went on: it "
            "never calls is_cancelled(). Call it in loops, on the request or its "
            "response sender, and return early when it is True."
        ]
    } == review([root], made.models)
    assert [{}] * 5 == [review([root_], made.models) for root_ in others]
    assert {} == review([root], (onnx, *made.models[1:]))


def test_a_reviewed_trace_carries_the_notes():
    """They follow the notes of the run."""
    made = reviewed(trace((2, 20), (21, 40), (41, 60)))

    assert 1 == len(made.spans[0].notes)
    assert ((), (), ()) == tuple(span.notes for span in made.spans[1:])
