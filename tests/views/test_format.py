"""Specification of times, counts and names as a reader sees them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.views import format as words


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 µs"),
        (0.34, "340 ns"),
        (7.125, "7.12 µs"),
        (790, "790 µs"),
        (999.6, "1.00 ms"),
        (2010, "2.01 ms"),
        (11380, "11.4 ms"),
        (123_400, "123 ms"),
        (1_234_000, "1.23 s"),
        (75_300_000, "75.3 s"),
    ],
)
def test_a_time_has_three_digits_and_its_unit(us, text):
    """Further digits are left out."""
    assert text == words.time(us)


def test_a_time_that_was_not_recorded_is_a_dash():
    """An absent activity never looks like 0."""
    assert "\N{EN DASH}" == words.time(float("nan"))


@given(st.text(), st.integers(20, 60))
def test_sendable_text_is_utf_8_with_a_maximum_of_bytes(text, most):
    """Any string, lone surrogates included, fits the socket and the limit."""
    assert len(words.sendable(text, most).encode("utf-8")) <= most


@given(st.text(max_size=400), st.floats(15, 400))
def test_a_clipped_name_fits_its_width(text, most):
    """Text beside it stays readable."""
    assert words.width(words.clip(text, 12, most), 12) <= most


def test_a_name_is_clipped_in_its_middle():
    """Long names differ at their ends."""
    clipped = words.clip("resnet_preprocess_stage_0_1", 12, 100)

    assert clipped.startswith("resnet")
    assert clipped.endswith("_0_1")


@pytest.mark.parametrize(
    ("end", "places"),
    [
        (76_195, [0, 20_000, 40_000, 60_000]),
        (100, [0, 20, 40, 60, 80, 100]),
        (0.5, [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (0, [0]),
    ],
)
def test_ticks_are_round_and_reach_the_end(end, places):
    """An axis has round numbers."""
    assert places == pytest.approx(words.ticks(end, 6))
