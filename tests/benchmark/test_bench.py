"""What a bench shows: one line, a table, a figure, plain rows."""

from __future__ import annotations

import math

import pytest

from blsnb.benchmark.bench import Bench
from blsnb.benchmark.level import Sample
from blsnb.benchmark.samples import NOTHING, Counts, LoadRow, row_of

MS = 1_000_000


def row(clients: int, count: int, *, error: str = "", sizes=None, **how) -> LoadRow:
    """Return a level of requests that took 10 ms each."""
    found = [Sample(0, 5 * MS, 10 * MS, 2, "") for _ in range(count)]
    found += [Sample(0, MS, MS, error=error)] if error else []
    phases = {name: (1, 2 * MS) for name in NOTHING.phases}
    counted = Counts(phases, sizes) if sizes else NOTHING
    return row_of(clients, found, counted, stream=how.get("stream", False))


def test_a_bench_is_one_line_with_the_best_level():
    """Its repr is that line."""
    bench = Bench("m", "tensors", False, (row(1, 1), row(8, 4), row(16, 2)))

    assert "<Bench m: 7 requests, 400/s with 8 clients>" == repr(bench)
    assert "<Bench m: 0 requests>" == repr(Bench("m", "off", False, ()))


def test_a_bench_shows_failures_and_an_interrupt():
    """The repr mentions them, and each error text has its count."""
    rows = (row(1, 1, error="[INTERNAL] no"), row(2, 1, error="[INTERNAL] no"))
    bench = Bench("m", "off", False, rows, interrupted=True)

    assert "<Bench m: 2 requests, 2 failed, 100/s with 1 client, interrupted>" == (
        repr(bench)
    )
    assert "m: closed loop, trace level off; interrupted" == bench.caption
    assert ["2 failed: [INTERNAL] no"] == bench.errors


def test_the_table_has_a_line_for_each_level():
    """It has throughput, latencies, the server's phases, batch sizes and counts."""
    rows = (row(1, 4, sizes={1: 4}), row(8, 1, error="no", sizes={1: 1, 4: 1}))
    caption, head, one, eight, failed = str(
        Bench("m", "timestamps", False, rows)
    ).splitlines()
    assert ["clients", "      1", "      8"] == [
        each[:7] for each in (head, one, eight)
    ]

    assert "m: closed loop, trace level timestamps" == caption
    assert head.split() == [
        *("clients", "requests/s", "p50", "p90", "p95", "p99"),
        *("queue", "compute", "batch", "requests", "failed"),
    ]
    times = ["10", "ms"] * 4 + ["2", "ms", "6", "ms"]
    assert ["1", "400", *times, "1", "4", "0"] == one.split()
    assert ["8", "100", *times, "2.5", "(up", "to", "4)", "1", "1"] == eight.split()
    assert "1 failed: no" == failed


def test_unmeasured_numbers_are_dashes():
    """A level without responses has no latencies."""
    bench = Bench("m", "off", False, (row(1, 0),))

    cells = bench.table()[1][0]
    assert ("1", "0", *["-"] * 7, "0", "0") == cells


def test_a_stream_has_the_time_to_its_first_response():
    """It has two more columns; the caption explains the others."""
    bench = Bench("m", "off", True, (row(1, 1, stream=True),))

    head, [cells] = bench.table()
    assert "5 ms" == cells[head.index("first p50")]
    assert "10 ms" == cells[head.index("p50")]
    caption = "m: closed loop, latency to the last response, trace level off"
    assert caption == bench.caption


def test_unanswered_requests_are_listed_with_the_errors():
    """They are in no other number."""
    left = row(1, 0)._replace(unfinished=3)
    text = "3 unanswered at the end of their level, and not counted"

    assert [text] == Bench("m", "off", False, (left,)).errors


def test_an_open_loop_has_its_rates_and_their_errors():
    """The number of clients is that of the requests in flight."""
    held = row(3, 4)._replace(
        rate=400.0, sent_rate=400.0, p50_error_us=100.0, p99_error_us=2000.0
    )
    late = row(1200, 1)._replace(rate=1500.5, sent_rate=99.5, growth=1001)
    rows = (held, late)
    bench = Bench("m", "off", True, rows, left_out=(2e3, 2500.0), arrivals="poisson")

    assert (
        "m: open loop, poisson arrivals, latency from intended times, latency to the "
        "last response, trace level off"
    ) == bench.caption
    assert "<Bench m: 5 requests, 400/s>" == repr(bench)
    head, lines = bench.table()
    assert (
        *("wanted/s", "sent/s", "requests/s", "p50", "p90", "p95", "p99"),
        *("first p50", "first p99", "in flight"),
        *("queue", "compute", "batch", "requests", "failed"),
    ) == head
    first = ("400", "400", "400", "10 ms ± 100 µs", "10 ms", "10 ms", "10 ms ± 2 ms")
    last = ("1,500", "99.5", "100", *["10 ms"] * 4)
    assert [
        (*first, "-", "-", "3", *"---", "4", "0"),
        (*last, "-", "-", "1,200", *"---", "1", "0"),
    ] == lines
    assert [
        "1500.5 requests/s were not held: 99.5/s were sent, 100/s were answered, and "
        "1,001 more were in flight at the end",
        "not measured, as a lower rate was not held: 2000, 2500",
    ] == bench.errors


def test_the_rate_of_a_level_that_ctrl_c_ended_is_not_judged():
    """Too few requests of a random schedule were due."""
    late = row(8, 1)._replace(rate=1500.5, sent_rate=99.5)
    bench = Bench("m", "off", False, (late,) * 2, interrupted=True, arrivals="poisson")

    [first] = bench.errors
    assert first.startswith("1500.5 requests/s were not held")


@pytest.mark.parametrize(
    ("changed", "is_held"),
    [
        ({}, True),
        ({"growth": 10}, True),
        ({"growth": 11}, False),
        ({"rate": 1000.0, "sent_rate": 1000.0, "growth": 50}, True),
        ({"rate": 1000.0, "sent_rate": 1000.0, "growth": 51}, False),
        ({"sent_rate": 98.0}, True),
        ({"sent_rate": 97.9}, False),
        ({"unsent": 1}, False),
    ],
)
def test_a_rate_is_held_if_requests_are_sent_and_answered(changed, is_held):
    """A few may pile up by chance: ten, or one in twenty."""
    sent = row(1, 1)._replace(rate=100.0, sent_rate=100.0, duration_s=1.0)

    assert is_held is sent._replace(**changed).is_held


def test_the_most_frequent_error_is_the_first():
    """Of all levels together."""
    rows = [row(1, 0, error=text) for text in ("b", "a", "a")]

    assert ["2 failed: a", "1 failed: b"] == Bench(
        "m", "off", False, tuple(rows)
    ).errors


def test_rows_are_plain_data():
    """Names and numbers, which a table of any library takes."""
    plain = row(1, 1)._asdict()

    assert {int, float, dict} == set(map(type, plain.values()))


@pytest.mark.parametrize("counts", [(), (1, 4)])
def test_the_figure_has_throughput_and_latencies(counts):
    """The axis is the number of clients; a bench without rows has none."""
    rows = tuple(row(count, count) for count in counts)
    left, right = Bench("m$", "off", False, rows).plot().axes

    assert ["requests per second", "latency, ms"] == [
        axes.get_title() for axes in (left, right)
    ]
    assert list(counts) == [float(x) for x in left.lines[0].get_xdata()]
    assert [100.0 * n for n in counts] == list(left.lines[0].get_ydata())
    assert 3 == len(right.lines)


def test_a_figure_leaves_out_what_is_not_a_number():
    """A level that failed as a whole breaks no line."""
    bench = Bench("m", "off", False, (row(1, 0, error="no"), row(2, 2)))

    assert math.isnan(bench.plot().axes[1].lines[0].get_ydata()[0])
