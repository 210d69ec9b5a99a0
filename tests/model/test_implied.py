"""Configurations inferred from the tensors of recorded calls."""

from __future__ import annotations

import pytest
from asserting import some
from hypothesis import given
from hypothesis import strategies as st

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, parse_pbtxt
from blsnb.model.implied import SeenCall, SeenTensor, implied_config

NOTHING = ModelConfig()
BATCHING = parse_pbtxt("max_batch_size: 8")


def call(x=None, y=None, x_type="TYPE_FP32"):
    """Return a call with these shapes of its input and its output."""
    inputs = [] if x is None else [SeenTensor("X", x_type, x)]
    outputs = [] if y is None else [SeenTensor("Y", "TYPE_INT8", y)]
    return SeenCall(inputs, outputs)


def dims(calls, config=NOTHING):
    """Return names and dims of all inferred tensors."""
    implied = implied_config(config, calls).config
    return [(each.name, each.dims) for each in (*implied.inputs, *implied.outputs)]


def remarks(calls, config=NOTHING):
    """Return the remarks on the inferred configuration."""
    return implied_config(config, calls).remarks


def test_the_dims_of_one_call_are_its_shapes():
    """A remark says that they come from a single call."""
    assert [("X", (2, 3)), ("Y", (2,))] == dims([call((2, 3), (2,))])
    (remark,) = remarks([call((2, 3), (2,))])
    assert (
        "Inferred from one call: write -1 for each axis that may have any size."
    ) == remark


def test_an_axis_with_several_sizes_is_variable():
    """The other axes keep their size."""
    calls = [call((2, 3), (4,)), call((2, 5), (4,))]
    assert [("X", (2, -1)), ("Y", (4,))] == dims(calls)
    assert ("Inferred from 2 calls: an axis is -1 if its size differed.",) == (
        remarks(calls)
    )


def test_dims_exclude_the_batch():
    """The first axis is omitted if the model batches."""
    calls = [call((2, 3), (2, 7)), call((4, 3), (4, 7))]
    assert [("X", (3,)), ("Y", (7,))] == dims(calls, BATCHING)
    assert 1 == len(remarks(calls, BATCHING))


def test_a_probable_batch_is_remarked():
    """First axes are equal within each call and differ between calls."""
    batches = [call((2, 3), (2,)), call((4, 3), (4,))]
    assert (
        "All tensors of a call had the same first axis, which differed between calls: "
        "if it is the batch, set max_batch_size and omit it from dims."
    ) == remarks(batches)[-1]
    for others in (
        [call((2, 3), (2,)), call((2, 3), (2,))],
        [call((2, 3), (1,)), call((4, 3), (1,))],
        [call((2, 3), ()), call((4, 3), ())],
    ):
        assert not any(
            "set max_batch_size" in remark for remark in some(remarks(others))
        )


def test_different_first_axes_within_a_call_are_remarked():
    """They contradict the configured batching."""
    odd = SeenCall(
        [SeenTensor("A", "TYPE_INT8", (2, 1)), SeenTensor("B", "TYPE_INT8", (3, 1))], []
    )
    assert (
        "Inputs of one call had different first axes, which cannot be a batch."
    ) == remarks([odd], BATCHING)[-1]


def test_an_empty_axis_is_variable():
    """A configured dimension is at least 1."""
    assert [("X", (-1, 3))] == dims([call((0, 3))])


def test_a_tensor_without_axes_has_dims_of_one():
    """Triton has no scalars."""
    assert [("X", (1,))] == dims([call(())])
    assert [("X", (1,))] == dims([call((5,))], BATCHING)


def test_an_omitted_input_is_optional():
    """An output may be missing in an error or in one of several responses."""
    calls = [call((1,), (1,)), call(None, (1,)), call((1,), None)]
    implied = implied_config(NOTHING, calls).config

    assert [True] == [each.optional for each in implied.inputs]
    assert [("Y", (1,))] == [(each.name, each.dims) for each in implied.outputs]


def test_other_fields_are_kept():
    """Tensors without a call, batching, instances and parameters do not change."""
    text = """
    max_batch_size: 8
    input { name: "Z" data_type: TYPE_STRING dims: [ 7 ] }
    output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] label_filename: "l" }
    dynamic_batching {}
    """
    config = implied_config(parse_pbtxt(text), [call((2, 3), (2, 9))]).config

    assert ["Z", "X"] == [each.name for each in config.inputs]
    (y,) = config.outputs
    assert ("TYPE_INT8", (9,)) == (y.data_type, y.dims)
    assert "l" == config.message.output[0].label_filename
    assert "dynamic_batching" == config.scheduling


def test_a_reshape_is_kept_only_with_its_dims():
    """It would not fit other dims."""
    text = """input { name: "X" data_type: TYPE_FP32 dims: [ 4 ]
                      reshape { shape: [ 2, 2 ] } }"""
    for size, reshape in ((4, (2, 2)), (6, None)):
        (x,) = implied_config(parse_pbtxt(text), [call((size,))]).config.inputs
        assert reshape == x.reshape


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([], "the calls of this model have no tensors"),
        ([call()], "the calls of this model have no tensors"),
        (
            [call((1,)), call((1, 1))],
            "tensor 'X' had 1 and 2 axes; dims have a fixed number",
        ),
        (
            [call((1,)), call((1,), None, "TYPE_INT8")],
            "tensor 'X' had several types: TYPE_FP32, TYPE_INT8",
        ),
    ],
)
def test_calls_without_a_common_configuration_are_refused(calls, reason):
    """The error names the tensor."""
    with pytest.raises(ModelConfigError) as caught:
        implied_config(NOTHING, calls)

    assert f"no configuration can be inferred: {reason}" == caught.value.message
    assert (
        "Write the configuration by hand; the run shows each tensor."
    ) == caught.value.advice


def test_a_batching_model_needs_tensors_with_axes():
    """The first axis is the batch."""
    with pytest.raises(ModelConfigError) as caught:
        implied_config(BATCHING, [call(())])

    reason = "tensor 'X' has no axis, but max_batch_size needs a batch axis"
    assert f"no configuration can be inferred: {reason}" == caught.value.message


SHAPES = st.integers(1, 3).flatmap(
    lambda rank: st.lists(
        st.lists(st.integers(0, 4), min_size=rank, max_size=rank).map(tuple),
        min_size=1,
        max_size=4,
    )
)


@given(SHAPES, st.booleans())
def test_every_call_fits_the_inferred_configuration(shapes, batching):
    """Each axis is equal or variable, and the text can be parsed."""
    config = BATCHING if batching else NOTHING
    implied = implied_config(config, [call(shape) for shape in shapes])
    (x,) = implied.config.inputs

    for shape in shapes:
        seen = shape[1:] if batching else shape
        assert len(seen) == len(x.dims) or (not seen and x.dims == (1,))
        assert all(dim in (-1, size) for dim, size in zip(x.dims, seen, strict=False))
    assert implied.config == parse_pbtxt(implied.text())
