"""A model returns a tensor as it received it, bit for bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import stage
from cells import cell
from hypothesis import given
from hypothesis import strategies as st
from strategies import Array, axes, bits_of, dtypes, examples, tensors

from blsnb import Server
from blsnb.tensors import dlpack
from blsnb.tensors.dtypes import BF16, BYTES, DType
from blsnb.tensors.ref import TensorRef

IDENTITY = cell(
    """
    tensor = pb_utils.get_input_tensor_by_name(request, "X")
    if request.request_id() == "dlpack":
        answer = pb_utils.Tensor.from_dlpack("Y", tensor)
    else:
        answer = pb_utils.Tensor("Y", tensor.as_numpy())
    return [pb_utils.InferenceResponse([answer])]
    """
)
ASKING = cell(
    """
    model, way, make = (stage.values[name] for name in ("model", "way", "make"))
    question = pb_utils.InferenceRequest(
        request_id=way,
        model_name=model,
        inputs=make(pb_utils),
        requested_output_names=["Y"],
    )
    response = question.exec()
    if response.has_error():
        raise pb_utils.TritonModelException(response.error().message())
    stage.values["answer"] = pb_utils.get_output_tensor_by_name(response, "Y")
    return [pb_utils.InferenceResponse()]
    """
)
MODEL = st.tuples(dtypes(), axes())


def identity(server: Server, dtype: DType, count: int) -> str:
    """Define a model that returns its input, for this type and rank."""
    name = f"{dtype.datatype}_{count}"
    if server.model(name).state != "READY":
        dims = ", ".join(["-1"] * count)
        config = "".join(
            f'{kind} {{ name: "{tensor}" data_type: {dtype.data_type} '
            f"dims: [ {dims} ] }}\n"
            for kind, tensor in (("input", "X"), ("output", "Y"))
        )
        server.define(name, IDENTITY, config=config)
    return name


def ways(dtype: DType) -> st.SearchStrategy[str]:
    """How the model answers: BF16 has no array, BYTES no DLPack."""
    possible = {BF16: ["dlpack"], BYTES: ["array"]}
    return st.sampled_from(possible.get(dtype, ["array", "dlpack"]))


def numpy_of(ref: TensorRef) -> Array:
    """Return a recorded tensor as it would be handed in."""
    if ref.dtype is BF16:
        return np.frombuffer(ref.data, ml_dtypes.bfloat16).reshape(ref.shape)
    return ref.view()


def test_a_client_receives_a_tensor_as_it_was_sent(server):
    """Every type and layout survives, including empty tensors."""

    @examples(250)
    @given(st.data(), MODEL)
    def check(data, model):
        dtype, count = model
        array = data.draw(tensors(dtype, count))
        way = data.draw(ways(dtype))
        name = identity(server, dtype, count)
        run = server.infer(name, {"X": array}, request_id=way)

        (recorded,) = run.trace.spans[0].outputs
        assert bits_of(array) == bits_of(numpy_of(recorded))
        if dtype is not BF16:
            assert bits_of(array) == bits_of(run["Y"])

    check()


def test_a_calling_model_receives_a_tensor_as_it_was_sent(server):
    """BLS keeps arrays of any layout and DLPack capsules."""
    server.define("asking", ASKING, config="")

    def make(array: Array, dtype: DType):
        if dtype is BF16:
            bits = np.ascontiguousarray(array).view(np.uint16).copy()
            capsule = dlpack.labelled(bits.reshape(array.shape).__dlpack__(), BF16)
            return lambda pb_utils: [pb_utils.Tensor.from_dlpack("X", capsule)]
        return lambda pb_utils: [pb_utils.Tensor("X", array)]

    @examples(250)
    @given(st.data(), MODEL)
    def check(data, model):
        dtype, count = model
        array = data.draw(tensors(dtype, count))
        stage.values["model"] = identity(server, dtype, count)
        stage.values["way"] = data.draw(ways(dtype))
        stage.values["make"] = make(array, dtype)
        server.infer("asking", {})
        answer = stage.values["answer"]

        if dtype is BF16:
            imported = dlpack.import_capsule(answer.to_dlpack())
            found = imported.array.view(ml_dtypes.bfloat16)
            assert imported.dtype is BF16
        else:
            found = answer.as_numpy()
            assert (True, True) == (found.flags.c_contiguous, found.flags.writeable)
        assert bits_of(array) == bits_of(found)

    check()


def test_a_tensor_without_axes_is_sent_as_it_is(server):
    """Outputs are not checked, so a response may have no axes."""
    sending = cell(
        'return [pb_utils.InferenceResponse([stage.values["single"](pb_utils)])]'
    )
    config = 'output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }'
    server.define("sending", sending, config=config)
    server.define("asking", ASKING, config="")
    stage.values.update(model="sending", way="", make=lambda pb_utils: [])

    @examples(60)
    @given(st.data(), dtypes().filter(lambda dtype: dtype is not BF16))
    def check(data, dtype):
        array = data.draw(tensors(dtype, 0))
        stage.values["single"] = lambda pb_utils: pb_utils.Tensor("Y", array)
        run = server.infer("sending", {})
        server.infer("asking", {})

        assert bits_of(array) == bits_of(run["Y"])
        assert bits_of(array) == bits_of(stage.values["answer"].as_numpy())

    check()
