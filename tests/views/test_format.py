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


@pytest.mark.parametrize(
    ("limit", "text"), [(8, "abcdefgh"), (7, "abc…fgh"), (6, "abc…gh")]
)
def test_a_long_text_loses_its_middle(limit, text):
    """It is as long as it may be."""
    assert text == words.cut("abcdefgh", limit)


@pytest.mark.parametrize(
    ("limit", "text"),
    [(14, r"aé\ud800bc€"), (13, r"aé\ud800b…"), (8, r"aé\u…"), (6, "aé…"), (5, "a…")],
)
def test_sendable_text_ends_at_a_whole_character(limit, text):
    """A lone surrogate is written as Python escapes it."""
    assert text == words.sendable("aé\ud800bc€", limit)


def test_a_width_is_that_of_narrow_wide_and_other_characters():
    """Bold text is a tenth wider."""
    widths = [words.width(each, 100) for each in ("i", "m", "a", "A", "漢", "ia")]

    assert [38, 98, 62, 72, 100, 100] == pytest.approx(widths)
    assert 68.2 == pytest.approx(words.width("a", 100, bold=True))


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (186.49, "resnet_preprocess_stage_0_1"),
        (186.47, "resnet_preprocess_sta…_0_1"),
        (100, "resnet_pr…_0_1"),
        (40, "res…1"),
        (30, "re…"),
        (20, "…"),
    ],
)
def test_a_name_is_clipped_in_its_middle(limit, text):
    """Long names differ at their ends."""
    assert text == words.clip("resnet_preprocess_stage_0_1", 12, limit)


def test_a_clipped_text_is_printable_and_has_at_most_300_characters():
    """Measuring a longer one takes time."""
    assert "a⟨U+202E⟩b" == words.clip("a\u202eb", 12, 100)
    assert "i" * 300 == words.clip("i" * 300, 1, 1000)
    assert f"{'i' * 150}…{'i' * 149}" == words.clip("i" * 301, 1, 1000)
    assert 300 == len(words.clip("\u202e" * 300, 1, 1000))


@pytest.mark.parametrize(
    ("us", "end", "text"),
    [
        (0, 5, "0"),
        (5, 5, "5 µs"),
        (0.5, 0.5, "0.5 µs"),
        (1500, 999, "1500 µs"),
        (1500, 1000, "1.5 ms"),
        (2e6, 1e6, "2 s"),
    ],
)
def test_a_time_on_an_axis_has_the_unit_of_the_end(us, end, text):
    """All times of one axis have the same unit."""
    assert text == words.tick(us, end)


@pytest.mark.parametrize(
    ("end", "places"),
    [
        (76_195, [0, 20_000, 40_000, 60_000]),
        (100, [0, 20, 40, 60, 80, 100]),
        (0.5, [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (6, [0, 1, 2, 3, 4, 5]),
        (7, [0, 2, 4, 6]),
        (30, [0, 5, 10, 15, 20, 25]),
        (31, [0, 10, 20, 30]),
        (0, [0]),
        (-1, [0]),
    ],
)
def test_ticks_are_round_and_reach_the_end(end, places):
    """An axis has round numbers."""
    assert places == pytest.approx(words.ticks(end, 6))
