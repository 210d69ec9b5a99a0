"""Models that work on a device, and configurations that let them."""

from __future__ import annotations

import textwrap

import numpy as np
from cells import CONFIG, HEAD

X = np.arange(4, dtype=np.float32)
HOST, GPU = (True, (1, 0)), (False, (2, 0))
"""What a tensor says of its place: ``is_cpu()``, and the device in DLPack's numbers."""

DEVICE_HEAD = HEAD + (
    'xp = stage.values["xp"]\n\n'
    "def made(name, values):\n"
    "    return pb_utils.Tensor.from_dlpack(name, xp.asarray(values))\n\n"
)
KIND_GPU = "instance_group { kind: KIND_GPU }"
ANYWHERE = (
    'parameters { key: "FORCE_CPU_ONLY_INPUT_TENSORS" value { string_value: "no" } }'
)
ON_GPU = f"{CONFIG} {KIND_GPU} {ANYWHERE}"
ON_CPU = f"{CONFIG} instance_group {{ kind: KIND_CPU }}"
"""Its inputs come to the host, as by default."""


def device_cell(execute: str, *, methods: str = "", head: str = "") -> str:
    """Return a model whose ``execute`` has these lines, after ``tensor = …``."""
    return (
        f"{DEVICE_HEAD}{textwrap.dedent(head)}\nclass TritonPythonModel:\n"
        f"{textwrap.indent(textwrap.dedent(methods), '    ')}"
        "    def execute(self, requests):\n        request = requests[0]\n"
        '        tensor = pb_utils.get_input_tensor_by_name(request, "X")\n'
        f"{textwrap.indent(textwrap.dedent(execute).strip(), '        ')}\n"
    )


DOUBLE = device_cell(
    """
    stage.seen.append((tensor.is_cpu(), tensor.__dlpack_device__()))
    array = xp.from_dlpack(tensor) if not tensor.is_cpu() else xp.asarray(
        tensor.as_numpy())
    return [pb_utils.InferenceResponse([
        pb_utils.Tensor.from_dlpack("Y", array * 2)])]
    """
)
"""Doubles on the device, and leaves the answer there."""
LOOK = device_cell(
    """
    stage.seen.append((tensor.is_cpu(), tensor.__dlpack_device__()))
    return [reply(tensor.as_numpy() + 1)]
    """
)
"""Adds one on the host, whether its input is there or not."""


def asking(name: str, more: str = "", then: str = "") -> str:
    """Return a model that calls another one and returns its response."""
    asked = f"""
    answer = pb_utils.InferenceRequest(
        model_name="{name}", inputs=request.inputs(), requested_output_names=["Y"],
        trace=request.trace(), {more}).exec()
    if answer.has_error():
        raise pb_utils.TritonModelException(answer.error().message())
    result = pb_utils.get_output_tensor_by_name(answer, "Y")
    stage.seen.append((result.is_cpu(), result.__dlpack_device__()))
    """
    last = "return [pb_utils.InferenceResponse([result])]"
    return device_cell(textwrap.dedent(asked) + textwrap.dedent(then) + last)


ASK = """
again = pb_utils.InferenceRequest(
    model_name="{name}", inputs=[pb_utils.Tensor.from_dlpack("X", result)],
    requested_output_names=["Y"], trace=request.trace()).exec()
if again.has_error():
    raise pb_utils.TritonModelException(again.error().message())
result = pb_utils.get_output_tensor_by_name(again, "Y")
{seen}
"""
SEEN = "stage.seen.append((result.is_cpu(), result.__dlpack_device__()))"
CHAIN = ASK.format(name="look", seen="")
CHAIN_DOUBLE = ASK.format(name="double", seen=SEEN)
"""Lines that pass the answer of one call on to another model."""
