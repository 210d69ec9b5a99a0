import numpy as np
import pytest

from blsnb.engine.scheduling.sequences.controls import Controls

from ..playing import config_of

START = (
    'name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] }'
)
END = 'name: "END" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [-1, 7] }'
READY = (
    'name: "READY" '
    "control { kind: CONTROL_SEQUENCE_READY bool_false_true: [false, true] }"
)


def corrid(data_type):
    return (
        'name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID data_type: '
        f"TYPE_{data_type} }}"
    )


def controls(*tensors, batch=4):
    inputs = " ".join(f"control_input {{ {tensor} }}" for tensor in tensors)
    return Controls(config_of(f"direct {{}} {inputs}", batch=batch))


def values(tensors):
    return {name: tensor.item() for name, tensor in tensors.items()}


@pytest.mark.parametrize(
    ("flags", "ready", "start", "end"),
    [
        (1, True, 1, -1.0),
        (0, True, 0, -1.0),
        (2, True, 0, 7.0),
        (3, True, 1, 7.0),
        (3, False, 0, -1.0),
    ],
)
def test_flags_become_the_configured_values(flags, ready, start, end):
    """A null request is neither start, end nor ready, and its id is 0."""
    tensors = controls(START, END, READY, corrid("UINT64")).of(flags, 9, ready)

    assert {
        "START": start,
        "END": end,
        "READY": ready,
        "CORRID": 9 if ready else 0,
    } == values(tensors)


@pytest.mark.parametrize(("batch", "shape"), [(4, (1, 1)), (0, (1,))])
def test_controls_have_one_element_of_the_configured_type(batch, shape):
    """They have a batch dimension if the model batches."""
    tensors = controls(START, END, READY, corrid("INT32"), batch=batch).of(1, 9, True)

    assert {"START": "int32", "END": "float32", "READY": "bool", "CORRID": "int32"} == {
        name: tensor.dtype.name for name, tensor in tensors.items()
    }
    assert {shape} == {tensor.shape for tensor in tensors.values()}


def test_a_model_without_controls_gets_none():
    """Sequence batching does not require controls."""
    assert {} == controls().of(1, 9, True)


@pytest.mark.parametrize(
    ("data_type", "sequence", "value"),
    [
        ("UINT64", 2**64 - 1, 2**64 - 1),
        ("INT64", 2**64 - 1, -1),
        ("UINT32", 2**33 + 5, 5),
        ("INT32", 2**33 + 5, 5),
        ("UINT64", "abcdefgh", 7233733595238498312),
        ("UINT64", "ab", 108168751349762),
        ("UINT64", "abcdefghijklmnop", 7233733595238498320),
        ("INT32", "abcdefgh", 8),
    ],
)
def test_an_id_is_cut_to_the_type_as_the_real_server_cuts_it(
    data_type, sequence, value
):
    """A string shows its length and its first letters."""
    assert {"CORRID": value} == values(
        controls(corrid(data_type)).of(1, sequence, True)
    )


@pytest.mark.parametrize(
    ("sequence", "ready", "text"),
    [("größe", True, "größe".encode()), (77, True, b"77"), ("a", False, b"")],
)
def test_a_text_control_has_the_id_as_bytes(sequence, ready, text):
    """The real server fails such requests; blsnb passes the id."""
    tensor = controls(corrid("STRING")).of(1, sequence, ready)["CORRID"]

    assert np.dtype(object) == tensor.dtype
    assert text == tensor.item()


def test_of_two_controls_in_one_tensor_the_id_wins():
    """The real server sets it last."""
    both = (
        'name: "BOTH" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT32 } '
        "control { kind: CONTROL_SEQUENCE_START int32_false_true: [3, 5] }"
    )
    assert {"BOTH": 2} == values(controls(both).of(1, 2, True))


def test_an_empty_id_is_an_empty_text():
    """So is that of a null request."""
    assert b"" == controls(corrid("STRING")).of(1, 0, True)["CORRID"].item()
