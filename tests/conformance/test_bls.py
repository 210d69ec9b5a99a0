"""BLS calls that go wrong, as the calling model and its client see it."""

import pytest

from .asking import ask, run, tensor, texts
from .covering import rows

SETUP = """
A = np.ones(4, dtype=np.float32)
def call(model, inputs, outputs=("SUM",), **fields):
    see(bls(model, outputs, *inputs, **fields))
"""

REJECTED = {
    "unknown model": 'call("nope", [("A", A)])',
    "empty model name": 'call("", [("A", A)])',
    "version that is not there": 'call("add", [("A", A), ("B", A)], model_version=7)',
    "version zero": 'call("add", [("A", A), ("B", A)], model_version=0)',
    "version -2": 'call("add", [("A", A), ("B", A)], model_version=-2)',
    "missing input": 'call("add", [("A", A)])',
    "missing input, with id": 'call("add", [("A", A)], request_id="my-id")',
    "missing first input": 'call("add", [("B", A)])',
    "no inputs": 'call("add", [])',
    "too many inputs": 'call("add", [("A", A), ("B", A), ("Q", A)])',
    "wrong input name": 'call("add", [("A", A), ("Q", A)])',
    "same input twice": 'call("add", [("A", A), ("A", A)])',
    "same input thrice, with id": 'call("add", [("A", A)] * 3, request_id="r")',
    "wrong dtype": 'call("add", [("A", A), ("B", A.astype("int32"))])',
    "BYTES for numbers": 'call("add", [("A", A), ("B", A.astype(object))])',
    "wrong length": 'call("add", [("A", A), ("B", A[:3])])',
    "wrong rank": 'call("add", [("A", A), ("B", A.reshape(2, 2))])',
    "no rank": 'call("add", [("A", A), ("B", np.array(1, dtype="float32"))])',
    "empty": 'call("add", [("A", A), ("B", A[:0])])',
    "wrong dtype and shape": 'call("add", [("A", A), ("B", np.ones(3))])',
    "unknown output": 'call("add", [("A", A), ("B", A)], ["NOPE"])',
    "unknown output beside a known": 'call("add", [("A", A), ("B", A)], ["SUM", "X"])',
    "unknown output and input": 'call("add", [("A", A), ("Q", A)], ["NOPE"])',
    "no batch dimension": 'call("batch", [("A", A[None]), ("B", A)])',
    "batches differ": 'call("batch", [("A", A[None]), ("B", np.array([A, A]))])',
    "batch too large": 'call("batch", [(n, np.ones((5, 4), "float32")) for n in "AB"])',
    "batch of none": 'call("batch", [(n, np.ones((0, 4), "float32")) for n in "AB"])',
    "no shape, batching": 'call("batch", [(n, np.array(1, "float32")) for n in "AB"])',
    "wrong row, batching": 'call("batch", [("A", A[None, :3]), ("B", A[None, :3])])',
    "long correlation id": (
        'call("add", [("A", A), ("B", A)], correlation_id="x" * 129)'
    ),
    "long correlation id and unknown output": (
        'call("add", [("A", A)], ["NOPE"], correlation_id="é" * 65)'
    ),
    "long correlation id, unknown version": (
        'call("add", [("A", A), ("B", A)], model_version=7, correlation_id="x" * 129)'
    ),
    "beyond int64": 'call("add", [("A", A), ("B", A)], parameters={"p": 2**63})',
    "required input replaced by an optional one": (
        'call("optional", [("Y", A[:2])], ["GOT"])'
    ),
    "nothing for a model with an optional input": 'call("optional", [], ["GOT"])',
    "too many for a model with an optional input": (
        'call("optional", [(n, A[:2]) for n in "XYZ"], ["GOT"])'
    ),
    "too few texts": 'call("texts", [("X", A[:1].astype(object))], ["X"])',
}


@rows(
    {
        **dict.fromkeys(
            ["unknown model", "empty model name", "version zero", "version -2"],
            "19.2/unknown-model-version-not-loaded-also",
        ),
        "missing input": "19.2/missing-input",
        "missing input, with id": "19.2/missing-input",
        "no inputs": "19.2/no-inputs",
        "too many inputs": "19.2/too-many-inputs",
        "wrong input name": "19.2/wrong-input-name-right-count",
        "same input twice": "19.2/same-input-twice",
        "wrong dtype": "19.2/wrong-dtype",
        "wrong length": "19.2/wrong-shape-rank",
        "wrong rank": "19.2/wrong-shape-rank",
        "no batch dimension": "19.2/rank-without-batch-dim-batching-model",
        "batches differ": "19.2/batch-sizes-differ",
        "batch too large": "19.2/batch-too-large",
        "batch of none": "19.2/batch-0",
        "unknown output": "19.2/unknown-requested-output-even-if-others",
        "unknown output beside a known": "19.2/unknown-requested-output-even-if-others",
        "beyond int64": "19.2/parameter-int-outside-int64",
    }
)
@pytest.mark.parametrize("code", REJECTED.values(), ids=REJECTED)
def test_a_rejected_call_is_a_response_with_an_error(agree, code):
    """A BLS request that its target cannot accept returns an error with one text."""
    agree(lambda target: run(target, SETUP + code, "add", "batch", "optional", "texts"))


ANSWERED = {
    "all outputs": 'call("add", [("A", A), ("B", A)], [])',
    "one output": 'call("add", [("A", A), ("B", A)], ["DIFFERENCE"])',
    "outputs in the target's order": (
        'call("add", [("A", A), ("B", A)], ["DIFFERENCE", "SUM"])'
    ),
    "an output twice": 'call("add", [("A", A), ("B", A)], ["SUM", "SUM"])',
    "inputs in any order": 'call("add", [("B", A), ("A", 2 * A)], [])',
    "an optional input": 'call("optional", [("Y", A[:2]), ("X", A[:2])], ["GOT"])',
    "without it": 'call("optional", [("X", A[:2])], ["GOT"])',
    "a batch": 'call("batch", [(n, np.ones((4, 4), "float32")) for n in "AB"])',
    "version 1": 'call("add", [("A", A), ("B", A)], model_version=1)',
}


@pytest.mark.parametrize("code", ANSWERED.values(), ids=ANSWERED)
def test_a_call_is_answered_with_what_was_asked_for(agree, code):
    """Only requested outputs are returned, in the order of the target."""
    agree(lambda target: run(target, SETUP + code, "add", "batch", "optional"))


FIELDS = {
    "none": "",
    "request_id": 'request_id="r-1"',
    "correlation_id": "correlation_id=2**64 - 1",
    "text correlation_id": 'correlation_id="sequence"',
    "empty correlation_id": 'correlation_id=""',
    "flags": "flags=3",
    "timeout": "timeout=2**64 - 1",
    "parameters": 'parameters={"b": True, "i": -(2**63), "s": "ä", "triton_x": 1}',
    "trace": "trace=request.trace()",
    "preferred_memory": (
        "preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)"
    ),
}


@rows(
    {
        "request_id": ("4.1/request_id", "4.2/request_id"),
        "correlation_id": ("4.1/correlation_id", "4.2/correlation_id"),
        "text correlation_id": ("4.1/correlation_id", "4.2/correlation_id"),
        "flags": ("4.1/flags", "4.2/flags"),
        "timeout": ("4.1/timeout", "4.2/timeout"),
        "parameters": ("4.1/parameters", "4.2/parameters"),
        "trace": ("4.1/trace", "4.2/trace"),
        "preferred_memory": "4.1/preferred_memory",
    }
)
@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_fields_of_a_request_reach_the_target(agree, fields):
    """All fields of a BLS request reach the target."""
    code = f"""
    tensor = pb_utils.Tensor("INT8", np.ones((1, 1), dtype=np.int8))
    see(bls("echo", ["REPORT"], tensor, {fields}))
    """
    agree(lambda target: run(target, code, "echo"))


def test_memory_of_a_graphics_card_that_is_not_there(agree):
    """Triton fails the call; here its outputs stay where they are."""
    code = """
    memory = pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_GPU)
    tensor = pb_utils.Tensor("INT8", np.ones((1, 1), dtype=np.int8))
    see(bls("echo", ["INT8"], tensor, preferred_memory=memory).has_error())
    """

    def answers(known, seen):
        assert ([[True]], [[False]]) == (known, seen)

    agree(
        lambda target: run(target, code, "echo"),
        deviates="a BLS call whose `PreferredMemory` is a GPU fails",
        ours=answers,
    )


TARGET_FAILS = [
    "value_error",
    "empty_message",
    "deeper_frames",
    "too_many",
    "a_tuple",
    "error_default",
    "error_empty",
    "error_NOT_FOUND",
    "error_CANCELLED",
    "error_and_output",
    "no_outputs",
    "other_output",
    "one_output_more",
    "other_dtype",
    "other_shape",
]
CALL = 'response = bls("failing", ["OUT"], ("HOW", np.array([{!r}], dtype=object)))\n'


@rows(
    {
        "value_error": "19.2/target-raised",
        "error_NOT_FOUND": "19.2/target-returned-tritonerror-te-msg-not_found",
        "no_outputs": "19.2/target-omitted-a-requested-output",
    }
)
@pytest.mark.parametrize("how", TARGET_FAILS)
def test_failures_inside_the_target_come_back_without_a_prefix(agree, how):
    """The error of the response is exactly the target's text."""
    agree(lambda target: run(target, CALL.format(how) + "see(response)", "failing"))


PASSED_ON = ["raised", "error", "response", "message", "code"]


@rows(
    {
        "value_error-raised": "19.3/raise-tritonmodelexception-resp-error-message",
        "value_error-error": "19.3/returns-inferenceresponse-error-resp-error-or",
        "value_error-response": "19.3/returns-inferenceresponse-error-resp-error-or",
        "value_error-message": (
            "19.3/returns-inferenceresponse-error-tritonerror-resp-error"
        ),
    }
)
@pytest.mark.parametrize("way", PASSED_ON)
@pytest.mark.parametrize("how", ["value_error", "error_NOT_FOUND", "nothing_wrong"])
def test_a_caller_passes_an_error_on(agree, how, way):
    """Each way of forwarding an inner error has its own text and status code."""

    def case(target):
        target.load("failing")
        return ask(target, "caller", HOW=texts(how), WAY=texts(way))

    agree(case)


WHERE = ["constructor", "initialize", "thread_of_initialize"]


@rows({"initialize": "15.5/bls-in-initialize"})
@pytest.mark.parametrize("where", WHERE)
def test_bls_needs_a_running_model(agree, where):
    """Before the model is initialized, `exec` raises instead of answering."""

    def case(target):
        target.load("add")
        return [target.load(f"bls_in_{where}"), ask(target, f"bls_in_{where}")]

    agree(case)


def test_a_request_can_be_sent_again(agree):
    """The same request object may be executed again, with the same result."""
    code = """
    A = pb_utils.Tensor("A", np.ones(4, dtype=np.float32))
    B = pb_utils.Tensor("B", np.ones(4, dtype=np.float32))
    again = pb_utils.InferenceRequest(
        model_name="add", requested_output_names=[], inputs=[A, B])
    see(again.exec(), again.exec())
    """
    agree(lambda target: run(target, code, "add"))


@pytest.mark.parametrize("way", ["gathered", "awaited", "sync"])
def test_async_exec_answers_like_exec(agree, way):
    """Three calls, one of which fails, return the same three responses in every way."""

    def case(target):
        target.load("add")
        return ask(target, "fan_out", WAY=texts(way), A=tensor([1, 2, 3, 4]))

    agree(case)
