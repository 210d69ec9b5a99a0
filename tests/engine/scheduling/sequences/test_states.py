import numpy as np
import pytest

from blsnb.engine.scheduling.sequences.states import States
from blsnb.errors import ModelConfigError

from ..playing import config_of

FILES = {
    "numbers": np.arange(4, dtype=np.int32).tobytes(),
    "short": b"12345",
    "texts": b"\x02\0\0\0ab\x01\0\0\0c",
}


def read(name):
    if name not in FILES:
        raise FileNotFoundError(
            2, "No such file or directory", f"/m/initial_state/{name}"
        )
    return FILES[name]


def state(data_type="INT32", dims="2", initial="", number=""):
    return (
        f'state {{ input_name: "SI{number}" output_name: "SO{number}" '
        f"data_type: TYPE_{data_type} dims: [ {dims} ] {initial} }}"
    )


def from_file(name, dims="2", data_type="INT32"):
    return (
        f'initial_state {{ name: "i" data_type: TYPE_{data_type} dims: [ {dims} ] '
        f'data_file: "{name}" }}'
    )


def states(*texts, batch=4):
    return States(config_of(f"direct {{}} {' '.join(texts)}", batch=batch), read)


def test_a_state_starts_with_zeros():
    """It has the state's shape; a variable dimension is 1."""
    (array,) = states(state("FP32", "-1, 2")).of(True).values()

    assert ("float32", (1, 1, 2)) == (array.dtype.name, array.shape)
    assert not array.any()


def test_a_model_that_does_not_batch_has_states_without_batch_dimension():
    """The shape is that of its inputs."""
    assert (2,) == states(state(), batch=0).of(True)["SI"].shape


def test_texts_start_empty():
    """The real server does the same."""
    assert [[b"", b""]] == states(state("STRING")).of(True)["SI"].tolist()


def test_a_file_gives_the_first_elements():
    """Further elements of the file are ignored."""
    assert [[0, 1]] == states(state(initial=from_file("numbers"))).of(True)[
        "SI"
    ].tolist()
    texts = states(state("STRING", "2", from_file("texts", data_type="STRING"))).of(
        True
    )
    assert [[b"ab", b"c"]] == texts["SI"].tolist()


def test_zero_data_is_zeros():
    """zero_data configures the default explicitly."""
    zero = (
        'initial_state { name: "z" data_type: TYPE_INT32 dims: [ 2 ] zero_data: true }'
    )
    assert [[0, 0]] == states(state(initial=zero)).of(True)["SI"].tolist()


def test_a_short_file_is_refused_in_tritons_words():
    """Triton's text lacks a space."""
    with pytest.raises(ModelConfigError) as refused:
        states(state(dims="-1", initial=from_file("short", dims="3")))

    assert "create" == refused.value.stage
    assert "INVALID_ARG" == refused.value.code
    assert (
        "initial_state setting expects 12 bytes, but the data provided from shortonly "
        "has 5 bytes."
    ) == refused.value.message
    advice = "The file in initial_state holds the elements' bytes, one by one."
    assert advice == refused.value.advice


def test_a_missing_file_is_refused_in_tritons_words():
    """The text has the path."""
    with pytest.raises(ModelConfigError) as refused:
        states(state(initial=from_file("none")))

    assert "INTERNAL" == refused.value.code
    assert (
        "failed to open text file for read /m/initial_state/none: No such file or "
        "directory"
    ) == refused.value.message
    advice = "data_file names a file in the model's folder initial_state."
    assert advice == refused.value.advice


def test_each_request_gets_arrays_of_its_own():
    """A model's writes are not visible to the next request."""
    one = states(state())
    one.of(True)["SI"][:] = 7

    assert not one.of(True)["SI"].any()


@pytest.mark.parametrize(
    ("data_type", "file", "nothing"),
    [("INT32", "numbers", [[0, 0]]), ("STRING", "texts", [[b"", b""]])],
)
def test_a_null_request_has_no_initial_state(data_type, file, nothing):
    """On Triton it has arbitrary numbers, here zeros."""
    one = states(state(data_type, initial=from_file(file, data_type=data_type)))

    assert nothing == one.of(False)["SI"].tolist()
    assert nothing != one.of(True)["SI"].tolist()


def test_of_two_states_with_one_output_the_first_is_kept():
    """As on Triton, the input of the second is missing."""
    double = state(number="2").replace("SO2", "SO1")
    found = states(state(number="1"), double, state(number="3"))

    assert {"SI1", "SI3"} == found.of(True).keys()


def test_a_model_without_states_gets_no_inputs():
    """It needs no file either."""
    assert {} == states().of(True)


REFUSED = {
    "another data type": (
        {"data_type": "FP32"},
        "The data type used for 'initial_state' field of state 'SI' does not match the "
        "state data type.",
    ),
    "no name": (
        {"name": ""},
        "Field 'name' must be set when using initial_state for state input 'SI'.",
    ),
    "another rank": (
        {"dims": "2, 1"},
        "Number of dimensions in 'initial_state' doesn't match the size of 'state' "
        "dimensions for state input 'SI'. 2 != 1",
    ),
    "a dimension that varies": (
        {"dims": "-1"},
        "'initial_state' field for state input name 'SI' contains variable dimensions.",
    ),
    "another dimension": (
        {"dims": "3"},
        "'initial_state' dim for input name 'SI' doesn't match 'state' dim "
        "description. 3 != 2",
    ),
    "no data": (
        {"data": ""},
        "initial_state setting expects state'SI' to have state_data set",
    ),
}


def initial(data_type="INT32", name="i", dims="2", data="zero_data: true"):
    return (
        f"initial_state {{ name: '{name}' data_type: TYPE_{data_type} "
        f"dims: [ {dims} ] {data} }}"
    )


@pytest.mark.parametrize(("wrong", "text"), REFUSED.values(), ids=REFUSED)
def test_an_initial_state_that_does_not_fit_is_refused(wrong, text):
    """The error has Triton's text."""
    with pytest.raises(ModelConfigError) as caught:
        states(state(initial=initial(**wrong)))

    assert (text, "create") == (caught.value.message, caught.value.stage)


@pytest.mark.parametrize("data_type", ["INVALID", None])
def test_a_state_without_a_data_type_is_refused(data_type):
    """On Triton it loads, and each request ends the model's process."""
    text = state(data_type).replace("data_type: TYPE_None", "")

    with pytest.raises(ModelConfigError) as refused:
        states(text)
    assert (
        "state input 'SI' has the data type TYPE_INVALID; set its data_type"
        == refused.value.message
    )


def test_of_two_initial_states_none_is_taken():
    """Only one is allowed."""
    with pytest.raises(ModelConfigError, match=r"Found '2' elements\.$"):
        states(state(initial=initial() + initial()))
