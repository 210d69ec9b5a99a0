"""Lists of requests."""

from __future__ import annotations

import math
import time

from blsnb.otlp.assembly import Outline
from blsnb.watch.listing import Filter, listing, table

SECOND = 10**9
QUICK = Outline("1-1", "resize", 1, "a-1", 20 * SECOND, 10**6, 1, 0, True)
SLOW = Outline("2-2", "Classify", 1, "b-2", 19 * SECOND, 50 * 10**6, 3, 0, True)
OLD = Outline("3-3", "classify", 2, "a-3", 1 * SECOND, 2 * 10**6, 1, 1, False)
ALL = [OLD, SLOW, QUICK]


def test_the_newest_comes_first():
    """The summary has number, rate, errors and the slowest."""
    found = listing(ALL, Filter(), 21 * SECOND)
    assert [QUICK, SLOW, OLD] == found.requests
    assert (0.2, 1, SLOW) == found[1:]
    assert "3 requests, 0.2 requests/s, 1 with errors, slowest 50 ms (Classify)" == str(
        found
    )


def test_requests_of_a_file_have_no_rate():
    """Without errors none are mentioned: a server sends no errors."""
    found = listing([QUICK], Filter())
    assert math.isnan(found.per_second)
    assert "1 request, slowest 1 ms (resize)" == str(found)


def test_filters_select_by_model_id_and_duration():
    """Parts of names in any case, and a least duration."""
    assert [SLOW, OLD] == listing(ALL, Filter(model="class")).requests
    assert [QUICK, OLD] == listing(ALL, Filter(request_id="A-")).requests
    assert [SLOW] == listing(ALL, Filter(slower_than_ms=50)).requests
    assert [] == listing(ALL, Filter("resize", "b")).requests


def test_the_slowest_can_come_first():
    """For a second look at the same requests."""
    ordered = listing(ALL, Filter()).slowest_first()
    assert [SLOW, OLD, QUICK] == ordered.requests


def test_a_table_has_equal_columns():
    """A plus marks requests of which spans are missing; names are made printable."""
    odd = QUICK._replace(model="a\x1b[31m" + "b" * 100)
    exact = SLOW._replace(model="c" * 40, start_ns=SECOND + 1_999_999)
    at, second = (
        time.strftime("%H:%M:%S", time.localtime(seconds)) for seconds in (20, 1)
    )
    shortened = "a␛[31m" + "b" * 33 + "…"

    assert [
        f"at            model{' ' * 37}request   time  calls  errors",
        f"{at}.000  {shortened}  a-1       1 ms      1",
        f"{second}.000  classify{' ' * 34}a-3       2 ms     1+       1",
        f"{second}.001  {'c' * 40}  b-2      50 ms      3",
    ] == table([odd, OLD, exact])
    assert [f"{second}.000  classify  a-3  2 ms  1+  1"] == table([OLD], head=False)
    assert [] == table([], head=False)


def test_the_rate_is_that_of_the_last_ten_seconds():
    """A request that began ten seconds ago is in it no more."""
    edge = QUICK._replace(start_ns=11 * SECOND)
    later = QUICK._replace(start_ns=11 * SECOND + 1)

    assert 0.1 == listing([edge, later, OLD], Filter(), 21 * SECOND).per_second
    assert "0 requests, 0 requests/s" == str(listing([], Filter(), 21 * SECOND))
