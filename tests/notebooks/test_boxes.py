"""The geometry between the three face networks, as the tutorial on faces writes it."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from .model_cells import file_cells

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "14_faces.ipynb"


@pytest.fixture(scope="module")
def boxes():
    """Return the tutorial's ``boxes.py`` as a module."""
    module = ModuleType("boxes")
    exec(file_cells(NOTEBOOK)["face_cascade/1/boxes.py"], module.__dict__)
    return module


def picture(height, width):
    """Return an image in which every pixel differs from its neighbours."""
    values = np.arange(height * width * 3) * 7 % 251
    return values.reshape(height, width, 3).astype(np.uint8)


def test_a_box_of_its_own_size_is_cut_out_unchanged(boxes):
    """Cutting without resizing neither moves nor blurs a pixel."""
    image = picture(8, 9)

    cut = boxes.resample(image, (3, 2, 8, 6), 4, 5)

    assert image[2:6, 3:8].tolist() == cut.tolist()


def test_shrinking_averages_the_pixels_of_each_cell(boxes):
    """Half the size means the mean of four pixels."""
    image = picture(4, 6)
    mean = image.reshape(2, 2, 3, 2, 3).astype(float).mean(axis=(1, 3))

    small = boxes.resample(image, (0, 0, 6, 4), 2, 3)

    assert np.rint(mean).tolist() == small.tolist()


def test_enlarging_repeats_pixels(boxes):
    """At twice the size each pixel is there four times."""
    image = picture(2, 3)

    large = boxes.resample(image, (0, 0, 3, 2), 4, 6)

    assert image.repeat(2, axis=0).repeat(2, axis=1).tolist() == large.tolist()


@pytest.mark.parametrize("box", [(-2, -2, 2, 2), (2, 1, 6, 5), (-9, -9, -5, -5)])
def test_outside_the_picture_it_is_black(boxes, box):
    """A square that leaves the picture still has pixels everywhere."""
    image = np.full((4, 4, 3), 200, np.uint8)
    x1, y1, x2, y2 = (np.clip(side + 9, 0, 21) for side in box)
    around = np.pad(image, ((9, 9), (9, 9), (0, 0)))

    cut = boxes.resample(image, box, 4, 4)

    assert around[y1:y2, x1:x2].tolist() == cut.tolist()


def test_the_pyramid_ends_where_the_picture_is_smaller_than_the_window(boxes):
    """A picture smaller than the smallest face is not looked at at all."""
    assert [] == boxes.pyramid_scales(39, 500, smallest_face=40)
    assert [0.3] == boxes.pyramid_scales(40, 500, smallest_face=40)


def test_of_overlapping_boxes_the_surest_stays(boxes):
    """Suppression keeps the best box of each group."""
    found = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [20, 0, 30, 10]], float)

    assert [1, 2] == boxes.best(found, np.array([0.8, 0.9, 0.7]), 0.5).tolist()


def test_a_box_inside_another_overlaps_it_by_its_own_size(boxes):
    """Measured by the smaller box, a small face within a larger one goes."""
    found = np.array([[0, 0, 10, 10], [4, 4, 6, 6]], float)
    scores = np.array([0.9, 0.8])

    assert [0, 1] == boxes.best(found, scores, 0.7).tolist()
    assert [0] == boxes.best(found, scores, 0.7, of_smaller=True).tolist()


def test_nothing_found_stays_nothing(boxes):
    """An empty set of boxes passes through every step."""
    none = np.empty((0, 4))

    assert [] == boxes.best(none, np.empty(0), 0.7).tolist()
    assert (0, 4) == boxes.squared(boxes.moved(none, none)).shape


def test_a_square_keeps_the_centre_and_the_longer_side(boxes):
    """Networks look at squares; the shorter side grows on both ends."""
    assert [[0, 5, 20, 25]] == boxes.squared(np.array([[5.0, 5, 15, 25]])).tolist()


def test_offsets_and_landmarks_are_parts_of_the_box(boxes):
    """Coordinates in a crop are converted to those of the picture."""
    box = np.array([[10.0, 20, 30, 60]])
    offsets = np.array([[0.1, 0.1, 0, -0.1]])
    corner_and_centre = np.array([[[0, 0], [0.5, 0.5]]])

    assert [[12, 24, 30, 56]] == boxes.moved(box, offsets).tolist()
    assert [[[10, 20], [20, 40]]] == boxes.placed(corner_and_centre, box).tolist()
