"""Requests that leave every input out, as they may where all are optional."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from .asking import run, tensor
from .counting import counted
from .scripted import pause, write
from .targets import Request

SOURCE = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request, len(requests)) for request in requests]

    def answer(self, request, together):
        names = sorted(tensor.name() for tensor in request.inputs())
        text = np.array([f"{together} {names}".encode()], np.object_)
        outputs = [pb_utils.Tensor("Y", text.reshape(SHAPE))]
        return pb_utils.InferenceResponse(outputs)
"""
STREAMING = SOURCE.replace(
    "return [self.answer(request, len(requests)) for request in requests]",
    """for request in requests:
            final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
            sender = request.get_response_sender()
            sender.send(self.answer(request, len(requests)), final)""",
)
INPUTS = """
input { name: "X" data_type: TYPE_INT32 dims: [ 1 ] optional: true }
input { name: "Z" data_type: TYPE_INT32 dims: [ 1 ] optional: true }
"""
OUTPUT = 'output { name: "Y" data_type: TYPE_STRING dims: [ 1 ] }'
CONTROL = """control_input { name: "START" control { kind: CONTROL_SEQUENCE_START
fp32_false_true: [ 0, 1 ] } }"""
STEP = """step { model_name: "no_inputs" model_version: -1
input_map { key: "X" value: "X" } input_map { key: "Z" value: "Z" }
output_map { key: "Y" value: "Y" } }"""
KINDS = {
    "alone": "",
    "delayed": "dynamic_batching { max_queue_delay_microseconds: 400000 }",
    "decoupled": "model_transaction_policy { decoupled: true }",
    "sequence": "sequence_batching {}",
    "controlled": f"sequence_batching {{ {CONTROL} }}",
}
BLS = """
ask = lambda model, **how: bls(model, ["Y"], **how)
see(ask("no_inputs"), ask("no_inputs", request_id="mine"), ask("no_inputs_ensemble"))
"""
BLS_STREAM = """
asked = pb_utils.InferenceRequest(
    model_name="no_inputs_decoupled", requested_output_names=["Y"], inputs=[])
see(*asked.exec(decoupled=True))
"""


def put(target, more="", name="no_inputs", size=8, head='backend: "python"'):
    """Write a model that needs no input, and load it anew."""
    source = STREAMING if "decoupled" in more else SOURCE
    config = f"{head}\nmax_batch_size: {size}\n{INPUTS}{OUTPUT}\n{more}"
    shape = "(1, 1)" if size else "(1,)"
    target.unload(name)
    write(target, name, config, source.replace("SHAPE", shape))
    assert target.load(name) is None
    return name


def put_ensemble(target):
    """Write an ensemble of the model."""
    name, more = "no_inputs_ensemble", f"ensemble_scheduling {{ {STEP} }}"
    return put(target, more, name, head='platform: "ensemble"')


def sequence(place):
    """Return the parameters of a request of a sequence of two."""
    return {"sequence_id": 5, "sequence_start": not place, "sequence_end": bool(place)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_batches_fails(agree, beside, kind):
    """The backend looks at the first input; controls of a sequence are some, too."""

    def case(target):
        target = beside(target)
        name = put(target, KINDS[kind], f"no_inputs_{kind}")
        sequential = "sequence" in KINDS[kind]
        return [
            target.stream(
                Request(name, id=id, parameters=sequence(place) if sequential else {})
            )
            for place, id in enumerate(("", "mine"))
        ]

    agree(case)


def test_a_model_that_does_not_batch_executes(agree, beside):
    """It needs to know no size of a batch."""

    def case(target):
        target = beside(target)
        return target.infer(Request(put(target, size=0)))

    agree(case)


def test_such_requests_fail_with_each_other_only(agree, beside):
    """All errors have the id of the first; requests with inputs are a batch."""

    def case(target):
        target = beside(target)
        name = put(target, KINDS["delayed"])
        given = {"a": [], "b": [], "c": [("X", tensor([[1]], "int32"))]}
        with ThreadPoolExecutor(len(given)) as pool:
            futures = []
            for id, inputs in given.items():
                asked = Request(name, inputs, id=id)
                futures.append(pool.submit(target.infer, asked))
                pause(0.05)
            return [each.result() for each in futures], counted(target, name, 3)

    agree(case)


def test_an_ensemble_says_whose_step_failed(agree, beside):
    """The text is that of the step; neither counts an execution."""

    def case(target):
        target = beside(target)
        name, ensemble = put(target), put_ensemble(target)
        answer = target.infer(Request(ensemble, id="mine"))
        return answer, counted(target, name, 1), counted(target, ensemble, 1)

    agree(case)


def test_an_ensemble_that_batches_has_no_batch(agree, beside):
    """The output of a step that does not batch keeps its shape."""

    def case(target):
        target = beside(target)
        put(target, size=0)
        ensemble = put_ensemble(target)
        x = ("X", tensor([[1]], "int32"))
        return [target.infer(Request(ensemble, inputs)) for inputs in ([], [x])]

    agree(case)


def test_a_model_that_calls_it_is_told(agree, beside):
    """Over BLS it is an ordinary error."""

    def case(target):
        target = beside(target)
        put(target)
        put_ensemble(target)
        put(target, KINDS["decoupled"], "no_inputs_decoupled")
        return run(target, BLS), run(target, BLS_STREAM)

    agree(case)
