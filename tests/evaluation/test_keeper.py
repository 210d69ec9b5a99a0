"""Specification of the choice of rows whose runs are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from blsnb.evaluation.keeper import MAX_TEXTS, Keeper
from blsnb.evaluation.plain import RowResult

TIMES = st.lists(st.integers(0, 50), max_size=60)


@given(TIMES, st.integers(0, 5))
def test_the_slowest_rows_are_kept_and_others_dropped(times, limit):
    """Of equal rows the earlier ones are kept; a dropped row is reported once."""
    keeper = Keeper(limit)
    kept: set[int] = set()
    for number, us in enumerate(times):
        dropped = keeper.offer(RowResult(number, latency_us=float(us)), {})
        if number in keeper:
            kept.add(number)
        assert kept.issuperset(dropped)
        kept.difference_update(dropped)

    ranked = sorted(range(len(times)), key=lambda number: (-times[number], number))
    assert ranked[:limit] == keeper.slowest()
    assert set(ranked[:limit]) == kept


def test_a_row_kept_for_two_reasons_outlives_one_of_them():
    """It is dropped when the last reason is gone."""
    keeper = Keeper(1, {"iou": True})
    assert [] == keeper.offer(RowResult(0, latency_us=5), {"iou": 0.1})
    assert [] == keeper.offer(RowResult(1, latency_us=9), {"iou": 0.9})
    assert [0] == keeper.offer(RowResult(2, latency_us=1), {"iou": 0.0})
    assert ([1], [2]) == (keeper.slowest(), keeper.worst("iou"))


def test_a_metric_named_slowest_does_not_rank_by_latency():
    """Its worst rows and the slowest ones are two lists."""
    keeper = Keeper(1, {"slowest": True})
    keeper.offer(RowResult(0, latency_us=5), {"slowest": 0.1})
    keeper.offer(RowResult(1, latency_us=9), {"slowest": 0.9})
    assert ([1], [0]) == (keeper.slowest(), keeper.worst("slowest"))


def test_texts_with_kept_runs_are_limited():
    """Texts that differ in each row do not fill the memory."""
    keeper = Keeper(2)
    for number in range(200):
        keeper.offer(RowResult(number, error=f"row {number}"), {})

    assert MAX_TEXTS == len(keeper.failures())
