"""The order in which a model receives the inputs of its requests."""

import pytest

from .asking import decoded, run, tensor
from .scripted import write
from .targets import Request

NAMES = "ABCDEFGHIJKLMNOP"
SOURCE = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        names = " ".join(tensor.name() for tensor in request.inputs())
        text = np.array([[names]], np.object_)
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", text)])
"""
INPUT = 'input {{ name: "{}" data_type: TYPE_INT32 dims: [ 1 ] optional: true }}'
CONFIG = """
backend: "python"
max_batch_size: 8
{inputs}
output {{ name: "Y" data_type: TYPE_STRING dims: [ 1 ] }}
{more}
"""
ORDERS = ["AB", "BA", "ABC", "CBA", "ACB", NAMES, NAMES[::-1], NAMES[::2] + NAMES[1::2]]


def control(kind):
    """Return a control, of the name of its kind."""
    given = "fp32_false_true: [ 0, 1 ]"
    if kind == "CORRID":
        given = "data_type: TYPE_UINT64"
    return (
        f'control_input {{ name: "{kind}" control '
        f"{{ kind: CONTROL_SEQUENCE_{kind} {given} }} }}"
    )


def state(name):
    """Return a state that no output writes."""
    return (
        f'state {{ input_name: "{name}" output_name: "{name}_NEW" '
        "data_type: TYPE_INT32 dims: [ 1 ] }"
    )


SEQUENCES = {
    "a start": control("START"),
    "all controls": "".join(map(control, ("START", "END", "READY", "CORRID"))),
    "controls in another order": "".join(
        map(control, ("CORRID", "READY", "END", "START"))
    ),
    "states": control("START") + state("S") + state("T"),
    "oldest": "oldest {}" + control("READY") + control("START"),
}


def put(target, more=""):
    """Write a model that returns the order, and reload it."""
    inputs = "\n".join(map(INPUT.format, NAMES))
    target.unload("ordered")
    write(target, "ordered", CONFIG.format(inputs=inputs, more=more), SOURCE)
    assert target.load("ordered") is None


def received_order(target, names, **parameters):
    """Return the received order of inputs that are sent in a given one."""
    inputs = [(name, tensor([[1]], "int32")) for name in names]
    answer = target.infer(Request("ordered", inputs, parameters=parameters))
    return decoded(answer.outputs["Y"])


def test_inputs_come_in_the_order_of_a_hash_table(agree, beside):
    """Only two inputs keep the client's order."""

    def case(target):
        put(beside(target))
        return [received_order(beside(target), order) for order in ORDERS]

    agree(case)


def test_inputs_of_a_bls_call_come_in_the_same_order(agree, beside):
    """The order is that of client requests."""
    code = f"""
    for order in {ORDERS}:
        inputs = [(name, np.zeros((1, 1), np.int32)) for name in order]
        see(bls("ordered", ["Y"], *inputs))
    """

    def case(target):
        put(beside(target))
        return run(beside(target), code)

    agree(case)


@pytest.mark.parametrize("what", SEQUENCES)
def test_what_a_sequence_adds_is_among_them(agree, beside, what):
    """Controls always in one order, whatever the configuration's, and states last."""

    def case(target):
        put(beside(target), f"sequence_batching {{ {SEQUENCES[what]} }}")
        return [
            received_order(
                beside(target), order, sequence_id=number, sequence_start=True
            )
            for number, order in enumerate(("A", "AB", "BA", NAMES[:10]), start=1)
        ]

    agree(case)
