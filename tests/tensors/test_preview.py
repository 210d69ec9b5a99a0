"""Specification of previews of tensors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from blsnb.errors import TraceError
from blsnb.tensors import preview
from blsnb.tensors.dtypes import BF16, BY_DATATYPE, BY_NUMPY, BYTES
from blsnb.tensors.preview import NAN_LEVEL, SIDE, Grid, Image, Text
from blsnb.tensors.ref import TensorRef, freeze


def ref(values, dtype="float32"):
    array = np.asarray(values, dtype)
    return freeze("X", array, BY_NUMPY[array.dtype])


def strings(*elements):
    return freeze("X", np.array(elements, np.object_), BYTES)


def levels(grid):
    return np.frombuffer(grid.data, np.uint8).reshape(grid.rows, grid.columns)


@given(arrays.arrays(np.float32, (3, 5), elements=st.floats(-1e4, 1e4, width=32)))
def test_a_small_grid_is_exact_within_half_a_level(array):
    """Level 0 is low, 254 is high, and levels between are linear."""
    grid = preview.grid(ref(array))
    back = grid.low + levels(grid) / 254 * (grid.high - grid.low)

    step = (grid.high - grid.low) / 254
    assert "" == grid.reduced
    assert np.abs(back - array).max() <= step / 2 * 1.001 + 1e-9


@pytest.mark.parametrize(
    ("values", "dtype", "written"),
    [
        ([0.1, -3, np.nan, np.inf], "float32", ("0.1", "-3.0", "nan", "inf")),
        ([[2**53 + 1], [-1]], "int64", ("9007199254740993", "-1")),
        ([True, False], "bool", ("True", "False")),
        (7, "uint8", ("7",)),
        (np.zeros(48), "uint8", ("0",) * 48),
        (np.zeros(49), "float32", ()),
        (np.zeros((8, 6)), "uint8", ("0",) * 48),
        (np.zeros((2, 7)), "float32", ()),
    ],
)
def test_a_few_values_are_written_out(values, dtype, written):
    """Numbers are easier to read than their colours."""
    assert written == preview.grid(ref(values, dtype)).values


@pytest.mark.parametrize(
    ("shape", "cells"),
    [((), (1, 1)), ((5,), (1, 5)), ((300,), (1, 128)), ((200, 3), (128, 3))],
)
def test_up_to_two_axes_are_one_slice(shape, cells):
    """A scalar and a vector are a grid of one row; no axis exceeds 128 cells."""
    grid = preview.grid(ref(np.zeros(shape)))

    assert (cells, ()) == ((grid.rows, grid.columns), grid.index)


def test_the_index_chooses_on_the_leading_axes():
    """All axes but the last two are chosen by number."""
    array = np.arange(24).reshape(2, 3, 2, 2)
    grid = preview.grid(ref(array), [1, 2])

    assert (20, 23, (1, 2)) == (grid.low, grid.high, grid.index)


@pytest.mark.parametrize("index", [[2, 0], [0], [-1, 0], [0, 0, 0]])
def test_an_index_outside_the_tensor_is_refused(index):
    """The error names the index and the axes."""
    with pytest.raises(TraceError, match="lies outside") as refused:
        preview.grid(ref(np.zeros((2, 3, 2, 2))), index)
    assert f"index {index} lies outside the leading axes [2, 3] of tensor 'X'" == str(
        refused.value
    )


def test_a_spike_in_floats_stays_visible():
    """A cell shows the value that is largest in magnitude."""
    array = np.zeros((512, 512))
    array[77, 301] = -9
    grid = preview.grid(ref(array))

    assert ("max-abs", -9.0, (512, 512)) == (grid.reduced, grid.low, grid.of)
    assert 1 == int((levels(grid) == 0).sum())


def test_one_true_in_a_large_mask_stays_visible():
    """A mask is reduced like floats, since its few ones matter."""
    mask = np.zeros((256, 256), bool)
    mask[200, 3] = True

    assert 254 == levels(preview.grid(ref(mask, "bool"))).max()


def test_integers_are_sampled():
    """Labels and counts keep their distribution."""
    grid = preview.grid(ref(np.arange(256), "int64"))

    assert ("stride", 0, 254) == (grid.reduced, grid.low, grid.high)


@pytest.mark.parametrize(("columns", "reduced"), [(4096, "max-abs"), (4097, "stride")])
def test_a_slice_of_more_than_16_million_elements_is_sampled(columns, reduced):
    """Searching it would take too long."""
    shape = 4096, columns
    mask = TensorRef("X", BY_NUMPY[np.dtype(bool)], shape, bytes(4096 * columns))

    assert reduced == preview.grid(mask).reduced


def test_a_nan_has_its_own_level_and_infinities_the_ends():
    """Level 255 is NaN only; the range is that of the finite values."""
    grid = preview.grid(ref([np.nan, np.inf, -np.inf, 1, 3]))

    assert (1.0, 3.0) == (grid.low, grid.high)
    assert [NAN_LEVEL, 254, 0, 0, 254] == levels(grid)[0].tolist()


def test_infinities_are_at_the_ends_of_the_symmetric_scale_of_both_signs():
    """The view's scale is symmetric if values are on both sides of zero."""
    grid = preview.grid(ref([np.inf, -np.inf, np.nan, -1, 3]))

    assert (-3, 3) == (grid.low, grid.high)
    assert [254, 0, NAN_LEVEL, 85, 254] == levels(grid)[0].tolist()


def test_a_nan_among_many_values_is_shown():
    """The reduction keeps a NaN, since one is enough to spoil a model."""
    array = np.zeros((400, 400))
    array[399, 399] = np.nan

    assert NAN_LEVEL == levels(preview.grid(ref(array)))[-1, -1]


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((8, 9, 3), "HWC"),
        ((2, 8, 9, 4), "HWC"),
        ((8, 9, 1), "HWC"),
        ((3, 8, 9), "CHW"),
        ((4, 8, 9), ""),
        ((7, 9, 3), ""),
        ((3, 8, 7), ""),
        ((8, 9), ""),
        ((0, 9, 3), ""),
    ],
)
def test_which_shapes_can_be_pictures(shape, layout):
    """Channels are last (1, 3 or 4) or first (3)."""
    assert layout == preview.image_layout(shape)


def test_a_heatmap_of_a_picture_shows_one_channel():
    """With channels last, the channels become a leading axis."""
    array = np.zeros((2, 8, 9, 3))
    array[1, :, :, 2] = np.arange(72).reshape(8, 9)
    grid = preview.grid(ref(array), [1, 2])

    assert (8, 9) == (grid.rows, grid.columns)
    assert (0.0, 71.0) == (grid.low, grid.high)


def test_a_uint8_picture_keeps_its_pixels():
    """A small picture is unchanged, and shown first."""
    pixels = np.arange(8 * 9 * 3).reshape(1, 8, 9, 3) % 256
    shown = preview.default(ref(pixels, "uint8"))

    assert isinstance(shown, Image)
    assert pixels.astype(np.uint8).tobytes() == shown.data


@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64", "BF16"])
def test_channels_first_in_zero_to_one_is_scaled_to_a_picture(datatype):
    """Normalised floats are the other usual form of a picture."""
    values = np.zeros((3, 8, 8), np.float32)
    values[0] = 1
    dtype = BY_DATATYPE[datatype]
    # BF16 is the upper half of a float32.
    upper = (values.view(np.uint32) >> 16).astype(np.uint16)
    stored = upper if dtype is BF16 else values.astype(dtype.dtype)
    shown = preview.default(freeze("X", stored, dtype))

    assert ("CHW", b"\xff\x00\x00") == (shown.layout, shown.data[:3])


def test_other_floats_are_a_heatmap_first_and_a_stretched_picture_on_request():
    """Only values in [0, 1] are shown as a picture by default."""
    values = np.linspace(-2, 2, 192).reshape(3, 8, 8)

    assert isinstance(preview.default(ref(values)), Grid)
    assert (0, 255) == (
        preview.image(ref(values)).data[0],
        preview.image(ref(values)).data[-1],
    )


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((3, 8, 8), "int64"), ((2, 2, 3), "float32"), ((4, 8, 8), "bool")],
)
def test_labels_scores_and_other_shapes_are_a_heatmap_first(shape, dtype):
    """Only a likely picture is shown as one by default."""
    assert isinstance(preview.default(ref(np.zeros(shape), dtype)), Grid)


def test_a_slice_of_nans_alone_is_all_nan():
    """Without a finite value there is no scale, and no colour."""
    for values in ([np.nan, np.nan], [np.inf, -np.inf]):
        grid = preview.grid(ref(values))

        assert np.isnan([grid.low, grid.high]).all()
        assert b"\xff\xff" == grid.data


def test_a_grey_picture_becomes_rgb_and_alpha_is_left_out():
    """A picture has three bytes a pixel."""
    grey = preview.image(ref(np.full((8, 8, 1), 7), "uint8"))
    alpha = preview.image(ref(np.tile([1, 2, 3, 4], (8, 8, 1)), "uint8"))

    assert (b"\x07\x07\x07", b"\x01\x02\x03") == (grey.data[:3], alpha.data[-3:])


def test_a_large_picture_keeps_its_proportions_and_averages():
    """Neither side exceeds 128 pixels; a checkerboard becomes grey."""
    board = np.indices((512, 256)).sum(axis=0)[:, :, None] % 2 * 200
    shown = preview.image(ref(np.repeat(board, 3, axis=2), "uint8"))

    assert (SIDE, SIDE // 2, (512, 256)) == (shown.rows, shown.columns, shown.of)
    assert {100} == set(shown.data)


def test_a_tensor_without_a_pictures_shape_is_refused():
    """The error names tensor and shape."""
    with pytest.raises(
        TraceError,
        match=r"'X' of shape \(4, 4\) is not a picture; a picture ends "
        r"in \(height, width, 1, 3 or 4\) or \(3, height, width\)$",
    ):
        preview.image(ref(np.zeros((4, 4))))


def test_undecodable_bytes_are_escaped():
    """Text is unchanged; other bytes are shown as in Python."""
    shown = preview.default(strings("Löwe".encode(), b"\xff\x00"))

    assert Text(("Löwe", "\\xff\x00"), 2) == shown


def test_of_many_long_strings_the_first_are_shown_and_all_are_counted():
    """At most 200 strings of 4 kB are sent, and no character is split."""
    shown = preview.text(strings(*["é".encode() * 3000] * 300))

    assert (200, 300) == (len(shown.strings), shown.count)
    assert "é" * 2048 + "…" == shown.strings[0]
    assert (
        "a" + "é" * 2047 + "…"
        == preview.text(strings(b"a" + "é".encode() * 3000)).strings[0]
    )


def test_a_string_of_exactly_the_limit_is_whole():
    """One more byte is cut off."""
    shown = preview.text(strings(b"a" * 4096, b"a" * 4097))

    assert ("a" * 4096, "a" * 4096 + "…") == shown.strings


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 8, 8)])
def test_an_empty_tensor_has_no_preview(shape):
    """A grid of it is refused."""
    assert preview.default(ref(np.zeros(shape))) is None
    with pytest.raises(TraceError, match=r"^tensor 'X' has no elements to show$"):
        preview.grid(ref(np.zeros(shape)))


def test_a_preview_of_an_evicted_tensor_is_refused():
    """The error says how to keep values."""
    gone = TensorRef("X", BY_NUMPY[np.dtype("float32")], (2, 2), None)

    assert preview.default(gone) is None
    with pytest.raises(TraceError) as refused:
        preview.grid(gone)
    assert (
        "the value of tensor 'X' was evicted: the trace keeps the newest runs within "
        "its budget. Call keep() on a run whose values you need."
    ) == str(refused.value)


def test_strings_cannot_be_sliced_as_numbers():
    """A BYTES tensor has no heatmap."""
    with pytest.raises(TraceError, match=r"holds strings, which have no 2-D slice$"):
        preview.grid(strings(b"a"))


@pytest.mark.parametrize(("brightness", "level"), [(255, 254), (0, 0)])
def test_a_blank_uint8_page_has_its_brightness(brightness, level):
    """It is not the middle of a scale without width."""
    grid = preview.grid(ref(np.full((9, 9), brightness), "uint8"))

    assert (0, 255, {level}) == (grid.low, grid.high, set(grid.data))
