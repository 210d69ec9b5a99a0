"""Verdicts on a whole session: no row is lost, and the running server confirms them."""

from __future__ import annotations

from collections.abc import Iterator

from .covering import LIVE_SHARE, OBSERVABLE, Ledger, covered, documented, statuses


def is_whole(ledger: Ledger) -> bool:
    """Whether a session ran every covering test, or left it to the long one."""
    ran = {test.rpartition("/")[2] for test in (*ledger.chosen, *ledger.left)}
    return covering_tests() <= ran


def covering_tests() -> set[str]:
    """Return file and name of every test that covers a row."""
    tests = {each for many in covered().values() for each in many}
    return {f"{module}.py::{name}" for module, name in (t.split(".") for t in tests)}


def verdicts(ledger: Ledger, *, beside_triton: bool) -> Iterator[str]:
    """Yield the faults of a whole session.

    Parameters
    ----------
    ledger
        The outcome of each row.
    beside_triton
        Whether a real server ran, which must then have confirmed nearly every row.
    """
    status = statuses()
    observable = [row for row in status if status[row] == OBSERVABLE]
    seen = {*ledger.agreed, *ledger.deviations, *ledger.later}
    for row in observable:
        if row not in seen:
            yield f"no case of row {row} agreed, or deviated as declared"
    found = {
        each.reason
        for many in ledger.deviations.values()
        for each in many
        if not documented(each)
    }
    for reason in sorted(found):
        yield f"docs/reference/deviations.md does not contain the reason {reason!r}"
    wanted = [row for row in observable if row not in ledger.later]
    live = [row for row in wanted if row in ledger.live]
    if beside_triton and len(live) < LIVE_SHARE * len(wanted):
        yield (
            f"only {len(live)} of {len(wanted)} rows were compared with the running "
            f"server; expected {LIVE_SHARE:.0%}"
        )
