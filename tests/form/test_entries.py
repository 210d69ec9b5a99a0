"""Specification of the values that entries of a form stand for."""

import io
import os
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from blsnb.form.entries import Entry, InputSource, read_entries, read_entry
from blsnb.form.inputs import InputSpec
from blsnb.form.random_values import MAX_BYTES
from blsnb.form.typed_values import default_text
from blsnb.form.uploads import Upload
from blsnb.form.value import FieldError

VECTOR = InputSpec("X", "FP32", (2,), is_batched=True)
PHOTO = InputSpec("IMAGE", "FP32", (3, 4, 5), is_batched=True)
PIXELS = (np.arange(8 * 10 * 3) % 251).reshape(8, 10, 3).astype(np.uint8)
NOISE = np.random.default_rng(0).integers(256, size=(64, 64, 3)).astype(np.uint8)


def read(spec, source, variables=None, **entered):
    return read_entry(Entry(source, **entered), spec, variables or {})


def refusal(spec, source, variables=None, **entered):
    with pytest.raises(FieldError) as caught:
        read(spec, source, variables, **entered)
    return str(caught.value)


def executed(value, folder):
    """Return what a cell with the value's code has, run in a folder."""
    names = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        exec("\n".join(value.imports), names)
        return eval(value.code, names)
    finally:
        os.chdir(before)


def png(pixels=PIXELS):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def wav(samples, rate=8000):
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(samples.shape[1])
        sound.setsampwidth(samples.dtype.itemsize)
        sound.setframerate(rate)
        sound.writeframes(samples.tobytes())
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    ("spec", "text", "expected"),
    [
        (VECTOR, "[1, 2]", [[1, 2]]),
        (VECTOR, "[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        (VECTOR, "1, 2", [[1, 2]]),
        (InputSpec("X", "INT64", (1,)), "7", 7),
        (InputSpec("X", "BOOL", (2,)), "[true, False]", None),
        (InputSpec("X", "BOOL", (2,)), "[true, false]", [True, False]),
        (InputSpec("T", "BYTES", (1,)), "hello, 7", "hello, 7"),
        (InputSpec("T", "BYTES", (2,)), '["a", "b"]', ["a", "b"]),
        (InputSpec("T", "BYTES", (1,), True), '["a"]', [["a"]]),
    ],
)
def test_typed_text_is_a_number_a_list_or_a_string(spec, text, expected):
    """JSON and Python lists are read; a missing batch axis is added."""
    if expected is None:
        refused = refusal(spec, InputSource.TYPED, text=text)
        assert refused.endswith(" is not a number or a list such as [1, 2, 3]")
    else:
        value = read(spec, InputSource.TYPED, text=text)
        assert (expected, expected) == (value.value, eval(value.code))


def test_special_floats_have_code():
    """NaN and infinity have no literals in Python."""
    value = read(VECTOR, InputSource.TYPED, text="[NaN, -Infinity]")

    assert "[[np.nan, -np.inf]]" == value.code
    assert ("import numpy as np",) == value.imports


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "enter a number, or a list such as [1, 2, 3]"),
        ("one", "'one' is not a number or a list such as [1, 2, 3]"),
        ("[1, 2, 3]", "the value has shape [1, 3], expected [-1, 2]"),
        ("[[1], [2, 3]]", "input 'X' is FP32"),
        ("[" * 5000, f"{'[' * 40!r} is not a number or a list such as [1, 2, 3]"),
        (
            "__import__('os')",
            "\"__import__('os')\" is not a number or a list such as [1, 2, 3]",
        ),
        ("1" * 1_000_001, "the text has 1,000,001 characters, maximum 1,000,000"),
    ],
)
def test_a_text_that_gives_no_value_is_refused_with_a_sentence(text, expected):
    """The sentence has what was entered and what was expected."""
    assert expected in refusal(VECTOR, InputSource.TYPED, text=text)


@pytest.mark.parametrize(
    ("datatype", "expected"),
    [
        ("FP32", "[[0.0, 0.0]]"),
        ("BF16", "[[0.0, 0.0]]"),
        ("INT8", "[[0, 0]]"),
        ("UINT64", "[[0, 0]]"),
        ("BOOL", "[[false, false]]"),
        ("BYTES", ""),
    ],
)
def test_a_new_form_has_zeros_of_the_datatype(datatype, expected):
    """One for each free axis."""
    assert expected == default_text(InputSpec("X", datatype, (-1, 2)))


def test_a_text_of_the_maximum_length_is_a_value():
    """A longer one is refused."""
    spec, text = InputSpec("T", "BYTES", (1,)), "x" * 1_000_000

    assert text == read(spec, InputSource.TYPED, text=text).value
    assert (
        "the text has 1,000,001 characters, maximum 1,000,000; "
        "upload a file or use a variable"
    ) == refusal(spec, InputSource.TYPED, text=text + "x")


@pytest.mark.parametrize(
    "datatype", ["FP32", "FP16", "BF16", "INT8", "UINT8", "BOOL", "BYTES"]
)
def test_random_values_are_those_of_their_code(datatype, tmp_path):
    """The same seed gives the same array, of the input's datatype."""
    spec = InputSpec("X", datatype, (-1, 3))

    value = read(spec, InputSource.RANDOM, shape="2, 3", seed=4)

    assert (2, 3) == value.value.shape
    assert value.value.tolist() == executed(value, tmp_path).tolist()
    assert value.value.dtype == executed(value, tmp_path).dtype


@pytest.mark.parametrize(
    ("datatype", "expected"),
    [
        ("UINT8", {*range(256)}),
        ("INT8", {*range(100)}),
        ("INT64", {*range(100)}),
        ("BOOL", {False, True}),
        ("BYTES", {"alpha", "beta", "gamma", "delta"}),
    ],
)
def test_random_values_have_the_range_of_their_datatype(datatype, expected):
    """Small numbers, all pixels, both truths, a few words."""
    value = read(InputSpec("X", datatype, (-1,)), InputSource.RANDOM, shape="5000")

    assert expected == {*value.value.tolist()}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("2, y", "'2, y' is not a shape such as 1, 3, 224, 224"),
        ("2, -3", "'2, -3' is not a shape such as 1, 3, 224, 224"),
        ("9", "the value has shape [9], expected [-1, 2]"),
        (
            "99999, 99999",
            "shape [99999, 99999] takes 38,146 MB, maximum 32 MB; use a variable",
        ),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(shape, expected):
    """Nothing is allocated for a shape that is too large."""
    assert expected == refusal(VECTOR, InputSource.RANDOM, shape=shape)


def test_random_values_need_a_known_datatype():
    """A model may have a datatype of a later release."""
    refused = refusal(InputSpec("X", "FP4", (2,)), InputSource.RANDOM, shape="2")

    assert "the input's datatype is unknown; use a variable" == refused


def test_random_values_may_have_the_maximum_size():
    """One more is refused."""
    spec, most = InputSpec("X", "FP64", (-1,)), MAX_BYTES // 8

    assert (most,) == read(spec, InputSource.RANDOM, shape=str(most)).value.shape
    refused = refusal(spec, InputSource.RANDOM, shape=str(most + 1))
    assert f"shape [{most + 1}] takes 32 MB, maximum 32 MB; use a variable" == refused


def test_a_variable_is_taken_by_its_name():
    """Only names are accepted, and a similar one is suggested."""
    variables = {"photo": np.zeros((1, 2), np.float32), "wide": np.zeros((1, 2))}

    value = read(VECTOR, InputSource.VARIABLE, variables, text=" photo ")

    assert (variables["photo"] is value.value, "photo") == (True, value.code)
    errors = [
        refusal(VECTOR, InputSource.VARIABLE, variables, text=text)
        for text in ("phot", "photo[0]", "wide")
    ]
    assert [
        "the notebook has no variable 'phot'. Did you mean 'photo'?",
        "enter the name of a variable of the notebook",
        "the value is FP64, expected FP32",
    ] == errors


def test_only_an_optional_input_can_be_left_out():
    """All errors of a form are returned at once, by input."""
    optional = InputSpec("O", "FP32", (1,), optional=True)
    left_out = Entry(InputSource.NONE)

    reading = read_entries(
        {"X": left_out, "O": left_out}, {"X": VECTOR, "O": optional}, {}
    )

    assert ({}, {"X": "the model requires X"}) == reading


SIZE_NOTE = f"cat.png: the {len(png())} bytes of the file."


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        (PHOTO, "10 x 8 RGB, resized to 5 x 4, channels first, divided by 255"),
        (InputSpec("I", "UINT8", (-1, -1, 3)), "10 x 8 RGB"),
        (InputSpec("I", "UINT8", (8, 10), True), "10 x 8 RGB, converted to grey"),
        (InputSpec("I", "FP16", (1, 1, 4, 4)), "converted to grey, resized to 4 x 4"),
        (InputSpec("I", "UINT8", (8, 10, 1)), "10 x 8 RGB, converted to grey."),
        (InputSpec("I", "INT8", (1, 8, 10)), "10 x 8 RGB, converted to grey."),
        (InputSpec("I", "INT32", (4, 4, 4)), "converted to RGB with transparency"),
        (
            InputSpec("I", "BYTES", (1,), True),
            f"cat.png: the {len(png())} bytes of the file.",
        ),
        (
            InputSpec("I", "UINT8", (-1,)),
            f"cat.png: the {len(png())} bytes of the file.",
        ),
    ],
)
def test_a_picture_is_converted_to_the_declared_shape(spec, note, tmp_path):
    """The sentence says what was done, and the code does the same."""
    (tmp_path / "cat.png").write_bytes(png())

    value = read(spec, InputSource.FILE, upload=Upload("cat.png", png()))

    assert note in value.note
    again = executed(value, tmp_path)
    assert (value.value.dtype, value.value.tolist()) == (again.dtype, again.tolist())
    assert spec.takes(again.shape)


def test_an_unchanged_picture_keeps_its_values():
    """Without resizing each value is a pixel."""
    spec = InputSpec("I", "FP32", (3, 8, 10), is_batched=True)

    value = read(spec, InputSource.FILE, upload=Upload("cat.png", png())).value

    expected = PIXELS.transpose(2, 0, 1)[None] / np.float32(255)
    assert np.array_equal(expected, value)


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        (InputSpec("S", "FP32", (-1,), True), "0.50 s at 8,000 Hz, 2 channels"),
        (InputSpec("S", "FP32", (100,)), "channels averaged, cut to 100 samples"),
        (InputSpec("S", "INT16", (2, 5000)), "silence added to 5,000 samples"),
        (InputSpec("S", "INT16", (-1, 2)), "2 channels."),
        (InputSpec("S", "FP64", (3000, 2)), "cut to 3,000 samples"),
    ],
)
def test_a_sound_is_converted_to_the_declared_shape(spec, note, tmp_path):
    """The sentence says what was done, and the code does the same."""
    samples = np.arange(8000, dtype=np.int16).reshape(4000, 2) * 4
    (tmp_path / "a.wav").write_bytes(wav(samples))

    value = read(spec, InputSource.FILE, upload=Upload("a.wav", wav(samples)))

    assert note in value.note
    again = executed(value, tmp_path)
    assert (value.value.dtype, value.value.tolist()) == (again.dtype, again.tolist())
    assert spec.takes(again.shape)


SOUNDS = {
    "one channel": ([[1], [2], [3]], "INT16", (-1,), [1, 2, 3], "1 channel."),
    "two averaged": ([[2, 4], [6, 9]], "INT16", (2,), [3, 7], "channels averaged."),
    "shortened": ([[1], [2], [3]], "INT16", (2,), [1, 2], "cut to 2 samples."),
    "extended": ([[1]], "INT16", (3,), [1, 0, 0], "silence added to 3 samples."),
    "channels first": (
        [[1, 2], [3, 4], [5, 6]],
        *("INT16", (2, -1), [[1, 3, 5], [2, 4, 6]], "channels first."),
    ),
    "any channels": ([[1, 2]], "INT16", (-1, 5), [[1, 0, 0, 0, 0], [2, 0, 0, 0, 0]]),
    "channels last": ([[1, 2], [3, 4]], "INT16", (-1, 2), [[1, 2], [3, 4]]),
    "channels last, shortened": ([[1, 2], [3, 4]], "INT16", (1, 2), [[1, 2]]),
    "as a fraction": ([[16384], [-32768]], "FP32", (-1,), [0.5, -1], "scaled to -1…1."),
    "as a short fraction": ([[16384]], "FP16", (-1,), [0.5], "scaled to -1…1."),
}


@pytest.mark.parametrize("case", SOUNDS)
def test_a_sound_becomes_samples(case):
    """One after the other, each channel in its row or column."""
    samples, datatype, dims, expected, *note = SOUNDS[case]
    upload = Upload("a.wav", wav(np.array(samples, np.int16)))

    value = read(InputSpec("S", datatype, dims), InputSource.FILE, upload=upload)

    assert expected == value.value.tolist()
    assert value.note.endswith((*note, "")[0])


def test_a_sound_of_32_bits_is_scaled_by_its_own_range():
    """As one of 16 bits."""
    upload = Upload("a.wav", wav(np.array([[1 << 30], [-1 << 31]], np.int32)))

    value = read(InputSpec("S", "FP64", (-1,)), InputSource.FILE, upload=upload)

    assert [0.5, -1] == value.value.tolist()


def test_a_sound_that_was_cut_off_keeps_its_whole_samples():
    """A missing rate does not matter either."""
    content = bytearray(wav(np.array([[1, 2], [3, 4]], np.int16)))[:-1]
    content[24:28] = bytes(4)
    spec = InputSpec("S", "INT16", (-1, 2))

    value = read(spec, InputSource.FILE, upload=Upload("a.wav", bytes(content)))

    assert [[1, 2]] == value.value.tolist()
    assert "1.00 s at 1 Hz" in value.note


def test_an_array_is_read_without_executing_anything():
    """A NumPy file keeps its type; a pickled one is refused."""
    array = np.ones((1, 2), np.float32)
    objects = npy(np.array([Path], dtype=object))

    value = read(VECTOR, InputSource.FILE, upload=Upload("a.npy", npy(array)))

    assert np.array_equal(array, value.value)
    assert "a.npy: float32 [1, 2], unchanged." == value.note
    refused = refusal(VECTOR, InputSource.FILE, upload=Upload("a.npy", objects))
    assert "a.npy is not a NumPy array" in refused


def test_a_file_of_the_maximum_size_is_read():
    """What it lacks is the reason then, not its size."""
    reason = refusal(PHOTO, InputSource.FILE, upload=Upload("big", bytes(MAX_BYTES)))

    assert "big is not a picture, a WAV file or a NumPy array" == reason


@pytest.mark.parametrize(
    ("spec", "upload", "expected"),
    [
        (PHOTO, None, "choose a file, or wait until it has arrived"),
        (
            PHOTO,
            Upload("a.txt", b"text"),
            "a.txt is not a picture, a WAV file or a NumPy array",
        ),
        (PHOTO, Upload("a.png", png(NOISE)[:5000]), "a.png cannot be read"),
        (PHOTO, Upload("a.wav", b"RIFF1234WAVE"), "is not a readable WAV file"),
        (
            PHOTO,
            Upload(
                "a.wav",
                wav(np.zeros((9, 1), np.int16)).replace(b"t \x10\0", b"?\xff\xff\xff"),
            ),
            "a.wav is not a readable WAV file: the file is damaged",
        ),
        (
            PHOTO,
            Upload("a.npy", npy(np.zeros(3)).replace(b"(3,)", b"(3, ")),
            "a.npy is not a NumPy array: ",
        ),
        (
            PHOTO,
            Upload(
                "a.npy",
                npy(np.zeros(3)).replace(b"(3,), }" + b" " * 12, b"(%d,), }" % 10**12),
            ),
            "a.npy is not a NumPy array: ",
        ),
        (PHOTO, Upload("a.dds", b"DDS |" + bytes(200)), "a.dds cannot be read: "),
        (PHOTO, Upload("\x1b[2Ja.png", b""), "␛[2Ja.png is not a picture"),
        (
            VECTOR,
            Upload("a.png", png()),
            "a picture does not fit FP32 [-1, 2]; expected dims such as [3, 224, 224], "
            "[224, 224, 3] or [224, 224]",
        ),
        (
            VECTOR,
            Upload("big.png", bytes(MAX_BYTES + 1)),
            "big.png has 32.0 MB, maximum 32 MB; read it in a cell and use a variable",
        ),
        (
            InputSpec("S", "FP32", (3, 10, 10)),
            Upload("a.wav", wav(np.zeros((9, 1), np.int16))),
            "a sound of 1 channel does not fit",
        ),
        (
            InputSpec("S", "INT8", (-1,)),
            Upload("a.wav", wav(np.zeros((9, 1), np.int16))),
            "samples of type int16 do not fit INT8 [-1]",
        ),
        (
            InputSpec("S", "FP32", (-1,)),
            Upload("a.wav", wav(np.zeros((9, 1), np.uint8))),
            "a.wav has samples of 8 bits, expected 16 or 32; "
            "convert it, or read it in a cell and use a variable",
        ),
    ],
)
def test_a_file_that_gives_no_value_is_refused_with_a_sentence(spec, upload, expected):
    """The sentence names the file and what fits."""
    assert expected in refusal(spec, InputSource.FILE, upload=upload)


def test_a_picture_with_too_many_pixels_is_refused():
    """Pillow's limit holds: nothing of that size is decoded."""
    huge = Image.new("1", (20_000, 20_000))
    file = io.BytesIO()
    huge.save(file, "png")

    refused = refusal(
        PHOTO, InputSource.FILE, upload=Upload("bomb.png", file.getvalue())
    )

    assert "bomb.png has too many pixels" in refused
