import numpy as np
import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_pbtxt
from blsnb.model.warmup_samples import warmup_samples

FILES = {
    "ones": np.ones(3, np.float32).tobytes(),
    "more": np.arange(9, dtype=np.float32).tobytes(),
    "short": b"1234",
    "texts": b"\x01\0\0\0a\x02\0\0\0bc\0\0\0\0",
    "cut": b"\x01\0\0\0a\x07\0\0\0bc",
    "cut length": b"\x01\0\0\0a\x07\0",
}
ZERO = "data_type: TYPE_FP32 dims: [ 3 ] zero_data: true"


def read(name):
    if name not in FILES:
        raise FileNotFoundError(2, "No such file or directory", f"/m/warmup/{name}")
    return FILES[name]


class Counting:
    """Random bytes that can be distinguished."""

    def __init__(self):
        self.sizes = []

    def __call__(self, size):
        self.sizes.append(size)
        return bytes(range(1, size + 1))


def setting(name="w", batch="batch_size: 1", **inputs):
    given = "".join(
        f'inputs {{ key: "{name}" value {{ {text} }} }}'
        for name, text in inputs.items()
    )
    return f'model_warmup {{ name: "{name}" {batch} {given} }}'


def samples(*settings, batch=0, data_type="FP32", dims="3"):
    config = parse_pbtxt(
        f'name: "m" max_batch_size: {batch} {" ".join(settings)} '
        f'input {{ name: "X" data_type: TYPE_{data_type} dims: [ {dims} ] }}'
    )
    return list(warmup_samples(config, read, Counting()))


def value(sample):
    return sample.message.inputs[0].view().tolist()


@pytest.mark.parametrize("batch", ["", "batch_size: 0", "batch_size: 0 count: 3"])
def test_a_sample_without_batch_size_is_skipped(batch):
    """Its other fields are not checked."""
    assert [] == samples(setting(batch=batch, X="dims: [ -1 ]"))


@pytest.mark.parametrize(
    ("count", "rounds"), [("", 1), ("count: 0", 1), ("count: 1", 1), ("count: 3", 3)]
)
def test_the_count_is_the_number_of_rounds(count, rounds):
    """There is at least one."""
    (sample,) = samples(setting(batch=f"batch_size: 2 {count}", X=ZERO), batch=4)

    assert (2, rounds) == (sample.batch_size, sample.rounds)


def test_each_request_is_a_batch_of_one():
    """If the model batches; dims of a sample exclude the batch."""
    (alone,) = samples(setting(X=ZERO))
    (batched,) = samples(setting(X=ZERO), batch=4)

    assert (3,) == alone.message.inputs[0].shape
    assert (1, 3) == batched.message.inputs[0].shape


def test_the_name_of_a_data_field_counts_not_its_value():
    """``zero_data: false`` gives zeros, ``random_data: false`` random data."""
    (zero,) = samples(setting(X=ZERO.replace("true", "false")))
    text = "data_type: TYPE_UINT8 dims: [ 3 ] random_data: false"
    (random,) = samples(setting(X=text), data_type="UINT8")

    assert [0, 0, 0] == value(zero)
    assert [1, 2, 3] == value(random)


def test_random_inputs_begin_with_the_same_bytes():
    """One buffer serves all inputs."""
    text = "data_type: TYPE_UINT8 dims: [ {} ] random_data: true"
    (sample,) = samples(setting(X=text.format(3), A=text.format(5)), data_type="UINT8")

    assert [1, 2, 3] == value(sample)
    assert [1, 2, 3, 4, 5] == sample.extra[0].view().tolist()


@pytest.mark.parametrize("source", ["zero_data: true", "random_data: true"])
def test_strings_without_a_file_are_empty(source):
    """Random bytes would not be valid strings."""
    text = f"data_type: TYPE_STRING dims: [ 3 ] {source}"
    (sample,) = samples(setting(X=text), data_type="STRING")

    assert [b"", b"", b""] == value(sample)
    assert [] == sample.errors("m_0", 0)


def test_a_file_gives_the_first_elements():
    """The rest is ignored; a file of strings is used whole."""
    text = 'data_type: TYPE_{} dims: [ 3 ] input_data_file: "{}"'
    (numbers,) = samples(setting(X=text.format("FP32", "more")))
    (texts,) = samples(setting(X=text.format("STRING", "texts")), data_type="STRING")

    assert [0, 1, 2] == value(numbers)
    assert [b"a", b"bc", b""] == value(texts)


def test_inputs_that_the_model_does_not_declare_are_extra():
    """They may be controls of a sequence."""
    (sample,) = samples(setting(X=ZERO, START=ZERO), batch=4)

    assert ["X"] == [ref.name for ref in sample.message.inputs]
    assert [("START", (1, 3))] == [(ref.name, ref.shape) for ref in sample.extra]


REFUSED = {
    "a dimension that varies": (
        {"X": "data_type: TYPE_FP32 dims: [ -1 ] zero_data: true"},
        "warmup setting expects all variable-size dimensions are specified for input "
        "'X'",
    ),
    "a dimension below": (
        {"X": ZERO, "S": "data_type: TYPE_FP32 dims: [ -2 ] zero_data: true"},
        "warmup setting expects all variable-size dimensions are specified for input "
        "'S'",
    ),
    "no data": (
        {"X": "data_type: TYPE_FP32 dims: [ 3 ]"},
        "[request id: <id_unknown>] warmup setting expects input 'X' to have "
        "input_data_type set",
    ),
    "a short file": (
        {"X": 'data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "short"'},
        "[request id: <id_unknown>] warmup setting expects 12 bytes, but the data "
        "provided from shortonly has 4 bytes",
    ),
    "no file": (
        {"X": 'data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "no"'},
        "failed to open text file for read /m/warmup/no: No such file or directory",
    ),
    "dimensions before data": (
        {
            "A": "data_type: TYPE_FP32 dims: [ 3 ]",
            "X": "data_type: TYPE_FP32 dims: [ -1 ] zero_data: true",
        },
        "warmup setting expects all variable-size dimensions are specified for input "
        "'X'",
    ),
}


@pytest.mark.parametrize(("inputs", "text"), REFUSED.values(), ids=REFUSED)
def test_a_sample_is_refused(inputs, text):
    """The text is that of the real server, at the create stage."""
    with pytest.raises(ModelConfigError) as caught:
        samples(setting(**inputs))

    assert (text, "create") == (caught.value.message, caught.value.stage)
    assert ("INTERNAL" if "no file" in text or "open" in text else "INVALID_ARG") == (
        caught.value.code
    )


@pytest.mark.parametrize(
    ("case", "advice"),
    [
        (
            "a dimension that varies",
            "Write the dims of one request, without the batch and without -1.",
        ),
        ("no data", "Write zero_data: true, random_data: true, or input_data_file."),
        ("a short file", "The file in warmup must contain a batch of 1."),
        ("no file", "Put the file into the folder warmup of the model's folder."),
    ],
)
def test_a_refused_sample_says_what_to_write(case, advice):
    """The advice names the field and its values."""
    with pytest.raises(ModelConfigError) as caught:
        samples(setting(**REFUSED[case][0]))

    assert advice == caught.value.advice


def test_an_invalid_dimension_of_a_declared_input_is_refused_later():
    """The text is that of a wrong shape in a request."""
    (sample,) = samples(setting(X="data_type: TYPE_FP32 dims: [ -2 ] zero_data: true"))

    assert (-2,) == sample.message.inputs[0].shape


@pytest.mark.parametrize(
    ("batch", "most", "count"), [(1, 0, 0), (2, 0, 2), (4, 4, 0), (5, 4, 5)]
)
def test_a_sample_above_the_maximum_batch_size_fails(batch, most, count):
    """Each request has an error; a single request always runs."""
    (sample,) = samples(setting(batch=f"batch_size: {batch}", X=ZERO), batch=most)

    text = f"batch size {batch} for 'm_0', max allowed is {most}"
    assert [text] * count == sample.errors("m_0", most)


STRINGS = {
    "cut": "incomplete string data for inference input 'S', expecting string of length "
    "7 but only 2 bytes available",
    "cut length": "incomplete string length indicator for inference input 'S', "
    "expecting 4 bytes but only 2 bytes available. Please make sure the string length "
    "indicator is in one buffer.",
    "texts": "unexpected number of string elements 3 for inference input 'S', "
    "expecting 2",
    "": "expected 2 strings for inference input 'S', got 0",
}


@pytest.mark.parametrize(("name", "text"), STRINGS.items(), ids=STRINGS)
def test_the_backend_validates_strings(monkeypatch, name, text):
    """Undeclared inputs are not validated before."""
    monkeypatch.setitem(FILES, "", b"")
    given = f'data_type: TYPE_STRING dims: [ 2 ] input_data_file: "{name}"'
    (sample,) = samples(setting(X=ZERO, S=given))

    assert [text] == sample.errors("m_0", 0)


def test_an_input_without_type_ends_an_instance_on_triton():
    """A declared one is refused by the core."""
    (sample,) = samples(setting(X=ZERO, S="dims: [ 2 ] zero_data: true"))

    assert ["Stub process 'm_0' is not healthy."] == sample.errors("m_0", 0)
