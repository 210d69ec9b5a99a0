"""Devices of tensors on a server without a GPU."""

import pytest

from .asking import run
from .loading import load
from .test_configurations import PLAIN

FORCE = 'parameters {{ key: "FORCE_CPU_ONLY_INPUT_TENSORS" value {{ {} }} }}'
VALUES = {
    "yes": "string_value: 'yes'",
    "no": "string_value: 'no'",
    "maybe": "string_value: 'maybe'",
    "YES": "string_value: 'YES'",
    "an empty text": "string_value: ''",
    "nothing": "",
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_force_cpu_only_input_tensors(agree, value):
    """It has two values; with any other the model does not load."""
    text = f"{PLAIN} {FORCE.format(value)}"
    agree(lambda target: load(target, "m", text))


PLACES = {
    "a received tensor": "request.inputs()[0]",
    "a constructed tensor": 'pb_utils.Tensor("T", np.zeros(1))',
    "an answer": 'bls("echo", ["INT8"], INT8).output_tensors()[0]',
    "an answer that is wanted on the host": (
        'bls("echo", ["INT8"], INT8, preferred_memory=CPU).output_tensors()[0]'
    ),
}


@pytest.mark.parametrize("made", PLACES.values(), ids=PLACES)
def test_without_a_gpu_every_tensor_is_on_the_host(agree, made):
    """Models and DLPack see the host."""
    code = f"""
    INT8 = pb_utils.Tensor("INT8", np.ones((1, 1), dtype=np.int8))
    CPU = pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)
    tensor = {made}
    see(tensor.is_cpu(), tensor.__dlpack_device__(), tensor.as_numpy())
    """
    agree(lambda target: run(target, code, "echo"))
