"""The metrics page: Prometheus' text format, as Triton's library writes it."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb import InferenceError
from blsnb.engine.metrics.registry import Fixed, MetricLine, MetricRegistry
from blsnb.pb_utils.backend import Refusal

X = {"X": np.array([1, 2], np.float32)}


@pytest.fixture
def registry() -> MetricRegistry:
    """A registry without a server."""
    return MetricRegistry({})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1 / 3, "0.3333333333333333"),
        (0.1 + 0.2, "0.3"),
        (123456789012, "123456789012"),
        (1e16, "1e+16"),
        (-0.0, "-0"),
        (math.nan, "Nan"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
    ],
)
def test_numbers_have_sixteen_digits(registry, value, text):
    """C++ prints them like this."""
    gauge = registry.family("g", "", "GAUGE").sample({}, ())
    gauge.set(value)

    assert f"# HELP g \n# TYPE g gauge\ng {text}\n" == registry.exposition(())


def test_labels_are_sorted_and_escaped(registry):
    """Backslashes, line ends and quotes are escaped."""
    held = registry.family("c", 'as "is" \\', "COUNTER").sample(
        {"z": 'a\n"\\', "b": "é"}, ()
    )

    assert (
        '# HELP c as "is" \\\n# TYPE c counter\nc{b="é",z="a\\n\\"\\\\"} 0\n'
        == registry.exposition(())
    )
    assert (("b", "é"), ("z", 'a\n"\\')) == held.labels


def test_a_histogram_counts_up_to_each_bound(registry):
    """A value on the bound is included; the last bucket has all values."""
    histogram = registry.family("h", "", "HISTOGRAM").sample({"a": "b"}, (0.1, 1, 5.5))
    for value in (0.1, 3, 100, -1):
        histogram.observe(value)

    assert [
        'h_count{a="b"} 4',
        'h_sum{a="b"} 102.1',
        'h_bucket{a="b",le="0.1"} 2',
        'h_bucket{a="b",le="1"} 2',
        'h_bucket{a="b",le="5.5"} 3',
        'h_bucket{a="b",le="+Inf"} 4',
    ] == registry.exposition(()).splitlines()[2:]


def test_counters_come_first(registry):
    """Gauges and histograms follow; the server's families come before models'."""
    held = [
        registry.family(name, "", kind).sample({}, ())
        for name, kind in (("h", "HISTOGRAM"), ("g", "GAUGE"), ("c", "COUNTER"))
    ]
    own = Fixed("own", "", "GAUGE", (MetricLine("own", (), 1),))
    shown = registry.exposition([own])

    types = [line.split()[2] for line in shown.splitlines() if "TYPE" in line]
    assert ["c", "own", "g", "h"] == types
    assert 3 == len(held)


def test_a_model_may_add_to_a_family_of_the_server(registry):
    """The family has one head and the lines of both."""
    held = registry.family("own", "mine", "COUNTER").sample({"a": "b"}, ())
    held.increment(2)
    own = Fixed("own", "the server's", "COUNTER", (MetricLine("own", (), 1),))

    assert (
        '# HELP own the server\'s\n# TYPE own counter\nown 1\nown{a="b"} 2\n'
    ) == registry.exposition([own])


def test_a_counter_neither_falls_nor_is_set(registry):
    """It may stay as it is."""
    counter = registry.family("c", "", "COUNTER").sample({}, ())
    counter.increment(2)
    counter.increment(0)

    for change in (lambda: counter.increment(-1e-9), lambda: counter.set(3)):
        with pytest.raises(Refusal, match="TRITONSERVER_METRIC_KIND_COUNTER "):
            change()
    assert 2 == counter.value()


def test_threads_count_together(registry):
    """No increment is lost."""
    counter = registry.family("c", "", "COUNTER").sample({}, ())

    def count() -> None:
        for _ in range(200):
            counter.increment(1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 800 == counter.value()


COUNTING = cell(
    """
    self.counter.increment(2)
    return [reply(x_of(request))]
    """,
    methods="""
    def initialize(self, args):
        family = pb_utils.MetricFamily
        self.family = family("requests_seen", "what it says", family.COUNTER)
        self.counter = self.family.Metric(labels={"model": "m"})

    """,
)


def test_a_server_shows_what_its_models_count(server):
    """All instances share a counter."""
    config = f"{CONFIG}\ninstance_group {{ kind: KIND_CPU count: 2 }}\n"
    server.define("m", COUNTING, config=config)
    for _ in range(3):
        server.infer("m", X)

    assert (
        "# HELP requests_seen what it says\n# TYPE requests_seen counter\n"
        'requests_seen{model="m"} 6\n'
    ) in server.metrics()


def test_families_of_a_model_end_with_it(server):
    """They are removed with its instances."""
    server.define("m", COUNTING, config=CONFIG)
    server.infer("m", X)
    server.unload("m")

    assert "" == server.metrics()


def test_a_refusal_names_the_instance(server):
    """The text is that of all refusals."""
    body = 'pb_utils.MetricFamily("a-b", "", pb_utils.MetricFamily.GAUGE)'
    server.define("m", cell(body), config=CONFIG)

    with pytest.raises(InferenceError) as caught:
        server.infer("m", X)
    assert (
        "TritonModelException: Error when creating MetricFamily: Failed to process the "
        "request for model 'm_0', message: Invalid metric name\n"
    ) in caught.value.message


def test_a_server_counts_requests(server):
    """Successes, failures by reason, executions and durations count since the load."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("bad", cell("1 / 0"), config=CONFIG)
    server.infer("double", X)
    with pytest.raises(InferenceError):
        server.infer("bad", X)

    lines = server.metrics().splitlines()
    rows = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    double, bad = '{model="double",version="1"}', '{model="bad",version="1"}'
    assert ("1", "0") == (
        rows[f"nv_inference_request_success{double}"],
        rows[f"nv_inference_request_success{bad}"],
    )
    reason = '{{model="bad",reason="{}",version="1"}}'
    assert ["0", "1", "0", "0"] == [
        rows[f"nv_inference_request_failure{reason.format(word)}"]
        for word in ("OTHER", "BACKEND", "CANCELED", "REJECTED")
    ]
    assert "1" == rows[f"nv_inference_exec_count{bad}"]
    assert "0" == rows[f"nv_inference_pending_request_count{bad}"]
    (row,) = server.statistics("double")["model_stats"]
    total_us = row["inference_stats"]["success"]["ns"] // 1000
    assert str(total_us) == rows[f"nv_inference_request_duration_us{double}"]
