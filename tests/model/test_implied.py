"""The configuration that the tensors of calls imply."""

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
    """A call with these shapes of its input and its output."""
    inputs = [] if x is None else [SeenTensor("X", x_type, x)]
    outputs = [] if y is None else [SeenTensor("Y", "TYPE_INT8", y)]
    return SeenCall(inputs, outputs)


def dims(calls, config=NOTHING):
    """The dims of all tensors that are implied."""
    implied = implied_config(config, calls).config
    return [(each.name, each.dims) for each in (*implied.inputs, *implied.outputs)]


def remarks(calls, config=NOTHING):
    """What is said of it."""
    return implied_config(config, calls).remarks


def test_one_call_implies_its_own_shapes():
    """And that they are of one call is said."""
    assert [("X", (2, 3)), ("Y", (2,))] == dims([call((2, 3), (2,))])
    (said,) = remarks([call((2, 3), (2,))])
    assert said.startswith("Of one call:")


def test_an_axis_whose_size_differed_may_have_any():
    """The others stay."""
    calls = [call((2, 3), (4,)), call((2, 5), (4,))]
    assert [("X", (2, -1)), ("Y", (4,))] == dims(calls)
    assert ("Of 2 calls: an axis is -1 where its size differed.",) == remarks(calls)


def test_the_batch_is_no_dimension():
    """If the model batches, the first axis is not written."""
    calls = [call((2, 3), (2, 7)), call((4, 3), (4, 7))]
    assert [("X", (3,)), ("Y", (7,))] == dims(calls, BATCHING)
    assert 1 == len(remarks(calls, BATCHING))


def test_what_looks_like_a_batch_is_said():
    """Where all first axes differ between calls, and never within one."""
    alike = [call((2, 3), (2,)), call((4, 3), (4,))]
    assert any("set max_batch_size" in remark for remark in remarks(alike))
    for others in (
        [call((2, 3), (2,)), call((2, 3), (2,))],
        [call((2, 3), (1,)), call((4, 3), (1,))],
        [call((2, 3), ()), call((4, 3), ())],
    ):
        assert not any(
            "set max_batch_size" in remark for remark in some(remarks(others))
        )


def test_inputs_of_several_batch_sizes_are_no_batch():
    """What is configured is not what was seen."""
    odd = SeenCall(
        [SeenTensor("A", "TYPE_INT8", (2, 1)), SeenTensor("B", "TYPE_INT8", (3, 1))], []
    )
    assert "that is no batch" in remarks([odd], BATCHING)[-1]


def test_a_tensor_that_may_be_empty_has_an_axis_of_any_size():
    """0 is no dimension."""
    assert [("X", (-1, 3))] == dims([call((0, 3))])


def test_a_tensor_without_axes_has_one():
    """Triton has no scalars."""
    assert [("X", (1,))] == dims([call(())])
    assert [("X", (1,))] == dims([call((5,))], BATCHING)


def test_an_input_that_was_left_out_is_optional():
    """An output that an error or a part of an answer has not is none."""
    calls = [call((1,), (1,)), call(None, (1,)), call((1,), None)]
    implied = implied_config(NOTHING, calls).config

    assert [True] == [each.optional for each in implied.inputs]
    assert [("Y", (1,))] == [(each.name, each.dims) for each in implied.outputs]


def test_what_is_configured_otherwise_stays():
    """Tensors that were not seen, batching, instances, parameters."""
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


def test_a_reshape_stays_only_if_the_dims_do():
    """It would fit no more."""
    text = """input { name: "X" data_type: TYPE_FP32 dims: [ 4 ]
                      reshape { shape: [ 2, 2 ] } }"""
    for size, reshape in ((4, (2, 2)), (6, None)):
        (x,) = implied_config(parse_pbtxt(text), [call((size,))]).config.inputs
        assert reshape == x.reshape


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([], "no tensor was seen"),
        ([call()], "no tensor was seen"),
        ([call((1,)), call((1, 1))], "'X' had 1 and 2 axes"),
        ([call((1,)), call((1,), None, "TYPE_INT8")], "'X' was of several types"),
    ],
)
def test_what_no_configuration_fits_is_said(calls, reason):
    """It takes a person to decide."""
    with pytest.raises(ModelConfigError, match=reason):
        implied_config(NOTHING, calls)


def test_a_batch_needs_an_axis():
    """A tensor without one cannot be of a batching model."""
    with pytest.raises(ModelConfigError, match="'X' has no axis"):
        implied_config(BATCHING, [call(())])


SHAPES = st.integers(1, 3).flatmap(
    lambda rank: st.lists(
        st.lists(st.integers(0, 4), min_size=rank, max_size=rank).map(tuple),
        min_size=1,
        max_size=4,
    )
)


@given(SHAPES, st.booleans())
def test_every_call_fits_what_it_implies(shapes, batching):
    """Each axis is fixed or free, and the text can be read again."""
    config = BATCHING if batching else NOTHING
    implied = implied_config(config, [call(shape) for shape in shapes])
    (x,) = implied.config.inputs

    for shape in shapes:
        seen = shape[1:] if batching else shape
        assert len(seen) == len(x.dims) or (not seen and x.dims == (1,))
        assert all(dim in (-1, size) for dim, size in zip(x.dims, seen, strict=False))
    assert implied.config == parse_pbtxt(implied.text())
