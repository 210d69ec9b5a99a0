"""Lines of text between detector and recogniser, as the tutorial on OCR writes it."""

from types import ModuleType

import numpy as np
import pytest

from .conftest import NOTEBOOKS
from .model_cells import file_cells

NOTEBOOK = NOTEBOOKS / "15_reading_a_page.ipynb"


@pytest.fixture(scope="module")
def lines():
    """Return the tutorial's ``lines.py`` as a module."""
    module = ModuleType("lines")
    exec(file_cells(NOTEBOOK)["read_page/1/lines.py"], module.__dict__)
    return module


def stripes(*rows, height=40, width=200):
    """Return a map that is sure of stripes four pixels high, which begin there."""
    text_here = np.zeros((height, width), np.float32)
    for row in rows:
        text_here[row : row + 4, 20:180] = 0.9
    return text_here


def test_parts_that_touch_are_one_region(lines):
    """Two arms that meet below are one, as in the letter U."""
    mask = np.array([[1, 0, 1, 0, 1], [1, 0, 1, 0, 0], [1, 1, 1, 0, 1]], bool)

    found = sorted(
        sorted(zip(*map(np.ndarray.tolist, part), strict=True))
        for part in lines.regions(mask)
    )

    u = [(0, 0), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)]
    assert [u, [(0, 4)], [(2, 4)]] == found


def test_lines_are_found_from_top_to_bottom_and_grown(lines):
    """The network marks only the core of a line."""
    upper, lower = lines.lines(stripes(30, 6))

    assert upper.curve == pytest.approx([0, 0, 7.5], abs=1e-6)
    assert lower.curve == pytest.approx([0, 0, 31.5], abs=1e-6)
    assert upper.left < 20 < 180 < upper.right
    assert 4 < upper.height < 15


def test_small_or_uncertain_regions_are_not_lines(lines):
    """Dust and shadows are examples."""
    speck = np.zeros((40, 200), np.float32)
    speck[3:6, 3:6] = 1

    assert [] == lines.lines(speck)
    assert [] == lines.lines(stripes(6) / 2)
    assert [] == lines.lines(np.zeros((8, 8), np.float32))


def test_a_bent_line_lies_straight_in_its_strip(lines):
    """Every column of the strip is the same."""
    columns = np.arange(100)
    bent = 20 + 0.002 * (columns - 50.0) ** 2
    page = np.uint8(abs(np.arange(50)[:, None] - bent).clip(0, 10) * 25)
    line = lines.Line(np.polyfit(columns, bent, 2), 5, 95, 12)

    strip = lines.straightened(page, line)

    assert (48, 360) == strip.shape
    assert np.ptp(strip.astype(int), axis=1).max() <= 20
    assert strip[23:25].max() < strip[[0, -1]].min()


def test_a_page_grows_to_sides_that_the_detector_takes(lines):
    """Sides are multiples of 32, and at least 32."""
    flat = np.full((191, 384), 7, np.uint8)

    assert (576, 1152) == lines.enlarged(flat).shape
    assert (32, 32) == lines.enlarged(flat[:2, :2]).shape
    assert {7} == set(lines.enlarged(flat).flat)
