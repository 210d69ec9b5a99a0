"""What is kept of a call's batches while it waits."""

from __future__ import annotations

from blsnb.trace.facts import Batching, added


def kept(*new: Batching) -> list[Batching]:
    """Return the batching facts of a call after adding these."""
    known: list[Batching] | None = None
    for each in new:
        known = added(known, each)
    return known or []


def behind(execution: int) -> Batching:
    """Return why a call was not part of an execution."""
    return Batching(execution, False, "one at a time", "stands behind another")


def test_the_same_reason_again_is_counted():
    """The last execution is named, with the number of others."""
    [entry] = kept(behind(3), behind(4), behind(7))

    assert (7, 3) == (entry.execution, entry.times)
    assert "not with execution 7 and 2 before: stands behind another" == str(entry)


def test_other_reasons_are_kept_in_order():
    """The joined execution is last and has no number."""
    wide = Batching(5, False, "shape differs", "shape of X differs: [3]")
    joined = Batching(6, True, "delay over", "the delay of 5 µs was over")

    assert [behind(4), wide, joined] == kept(behind(4), wide, joined)
    assert "not with execution 4: stands behind another" == str(behind(4))
    assert "the delay of 5 µs was over" == str(joined)


def test_a_long_wait_keeps_the_first_and_last_reasons():
    """Each execution has a different reason."""
    passing = [Batching(n, False, "shape differs", f"[{n}]") for n in range(10_000)]

    entries = kept(*passing)

    assert 16 == len(entries)
    assert [0, 1, 2] == [entry.execution for entry in entries[:3]]
    assert [9998, 9999] == [entry.execution for entry in entries[-2:]]
