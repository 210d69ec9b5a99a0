"""A model's own metrics: valid values, refusals, and the metrics page."""

import time

import pytest

from .asking import apart, ask, run
from .covering import rows

SETUP = """
F = pb_utils.MetricFamily
c = F("case_counter", "counts", F.COUNTER)
g = F("case_gauge", "goes up and down", F.GAUGE)
h = F("case_histogram", "spreads", F.HISTOGRAM)
n, u = c.Metric({"a": "1"}), g.Metric(labels={"a": "1"})
o = h.Metric({"a": "1"}, [0.1, 1, 5.5])
"""


REFUSED = {
    "a counter goes down": "n.increment(-1)",
    "a counter is set": "n.set(1)",
    "a counter observes": "n.observe(1)",
    "a gauge observes": "u.observe(1)",
    "a histogram is incremented": "o.increment(1)",
    "a histogram is set": "o.set(1)",
    "a histogram has no value": "o.value()",
    "another kind": 'F("case_counter", "counts", F.GAUGE)',
    "a kind that was another": (
        '[F("case_gone", "", kind) for kind in (F.GAUGE, F.COUNTER)]'
    ),
    "the server's own name": 'F("nv_inference_count", "counts", F.GAUGE)',
    "no name": 'F("", "counts", F.GAUGE)',
    "a reserved name": 'F("__x", "counts", F.GAUGE)',
    "a label that is a number": 'c.Metric({"a": 1})',
    "a label's name that is a number": 'c.Metric({1: "a"})',
    "half of a surrogate pair": "c.Metric({'a': '\\ud800'})",
    "half of a surrogate pair in a name": "c.Metric({'b': '', '\\ud800x': 'a'})",
    "the other half": "c.Metric({'a': '\\udc00'}).value()",
    "a whole pair and a half": "c.Metric({'a': '\\U0001f600\\\\ud800\\ud83d'})",
    "buckets that do not ascend": 'h.Metric({"a": "2"}, [1, 3, 2])',
}


@rows("11/counter", "11/gauge", "11/histogram")
def test_the_server_refuses(agree):
    """Each is an error that names the instance and the reason."""
    # Two processes with families of one name would share freed memory.
    codes = {
        name: f"{SETUP}trial(lambda: {action})".replace("case", f"case{number}")
        for number, (name, action) in enumerate(REFUSED.items())
    }
    agree(lambda target: apart(target, codes))


COUNTED = {
    "a counter": """
        for number in (2, 0, True, np.float32(1.5), np.int64(1)):
            see(n.increment(number))
        see(n.value(), c.Metric({"a": "1"}).value(), c.Metric({"a": "2"}).value())
        """,
    "a gauge": """
        u.set(5); u.increment(-7); see(u.value())
        u.set(1e300); see(u.value()); u.set(np.array(3.0)); see(u.value())
        u.set(float("nan")); see(str(u.value()))
        u.set(float("inf")); see(str(u.value()))
        """,
    "labels in any order": """
        one = c.Metric(labels={"b": "2", "a": "1"}); one.increment(4)
        see(c.Metric({"a": "1", "b": "2"}).value(), c.Metric().value())
        none = c.Metric({}); none.increment(1)
        see(c.Metric().value(), c.Metric(None, None).value(), one is none)
        """,
    "a family made again": """
        again = F("case_counter", "other words", F.COUNTER)
        n.increment(3); see(again.Metric({"a": "1"}).value(), again is c)
        """,
    "metric objects that come and go": """
        c.Metric({"x": "y"}).increment(2); see(c.Metric({"x": "y"}).value())
        """,
    "other buckets for a metric that is there": """
        h.Metric({"a": "1"}, [7.0]).observe(2); see(h.Metric({"z": "1"}, []).observe(2))
        """,
    "labels that JSON turns into texts": """
        c.Metric({True: "d"}).increment(1); see(c.Metric({"true": "d"}).value())
        """,
    "a subclass": """
        class Sub(F): pass
        s = Sub("case_sub", "d", F.COUNTER); m = s.Metric()
        m.increment(1); see(m.value())
        """,
    "a family that is gone": """
        m = F("case_gone", "d", F.GAUGE).Metric()
        for name in ("increment", "set", "observe"):
            trial(lambda: getattr(m, name)(1))
        trial(lambda: m.value()); trial(lambda: m.value(1))
        """,
}


@rows({"a counter": "11/counter", "a gauge": "11/gauge"})
@pytest.mark.parametrize("code", COUNTED.values(), ids=COUNTED)
def test_a_metric_counts(agree, code):
    """Metrics of the same name and labels are one, while their family lives."""
    agree(lambda target: run(target, f"{SETUP}\nif True:{code}"))


ARGUMENTS = {
    "family": """
        for args in ((), ("a", "b"), ("a", "b", 0), (1, "b", F.COUNTER),
                     (None, "b", F.GAUGE), ("a", None, F.GAUGE), ("a", "b", None)):
            trial(lambda: F(*args))
        trial(lambda: F(name="case_named", description="", kind=F.GAUGE))
        trial(lambda: F(name="x", description="", kind=F.GAUGE, more=1))
        """,
    "metric": """
        for args in (((), [1]), ("a",), (5, 5), ({}, (1,)), ({}, "12"), ({}, 5),
                     ({}, {}), ({}, [1]), ({}, []), ({}, ["x"]), ({}, 5, 6)):
            trial(lambda: c.Metric(*args))
            trial(lambda: h.Metric(*args) and None)
        for labels in ({"e": b"d"}, {b"e": "d"}, {("e",): "d"}):
            trial(lambda: c.Metric(labels))
        trial(lambda: h.Metric()); trial(lambda: h.Metric({"a": "1"}))
        trial(lambda: h.Metric({"q": "1"}, [None])); trial(lambda: c.Metric(label={}))
        """,
    "operations": """
        for args in (("1",), (None,), (1 + 0j,), (2**2000,), (), (1, 2)):
            for name in ("increment", "set", "observe"):
                trial(lambda: getattr(u, name)(*args))
        trial(lambda: u.set(value=1)); trial(lambda: u.set(arg0=1))
        trial(lambda: u.value(1))
        """,
    "classes": """
        see(repr(F), F.__name__, F.__qualname__, F.__module__, repr(type(n)))
        see(type(n).__name__, type(n).__qualname__, type(n).__module__)
        see([name for name in dir(F) if not name.startswith("_")])
        see([name for name in dir(n) if not name.startswith("_")])
        see(F.COUNTER is F.COUNTER, repr(F.GAUGE), repr(c.HISTOGRAM))
        for action in (lambda: type(n)(), lambda: type(n)(1), lambda: n.foo,
                       lambda: c.foo, lambda: c.name, lambda: n.name):
            trial(action)
        import copy
        trial(lambda: copy.copy(n)); trial(lambda: copy.deepcopy(c))
        """,
}


@rows({"classes": "1/metricfamily-counter-gauge-histogram"})
@pytest.mark.parametrize("code", ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_are_checked(agree, code):
    """Each wrong argument is an error of the same class and text."""
    agree(lambda target: run(target, f"{SETUP}\nif True:{code}"))


SHOWN = r"""
F = pb_utils.MetricFamily
pb_utils.kept = kept = []
def make(name, kind, labels, *buckets):
    family = F(name, "says: \"d\" \\ é", kind)
    kept.append((family, family.Metric(labels, *buckets)))
    return kept[-1][1]
make("shown_counter", F.COUNTER, {}).increment(3)
make("shown_counter", F.COUNTER, {"x": "é\n\"\\", "b": "c"}).increment(0.1)
for n, v in enumerate([1e300, 1/3, 1e-9, 123456789012, -0.0, 1e16, 0.1 + 0.2, -5]):
    make("shown_gauge", F.GAUGE, {"n": str(n)}).set(v)
for v in ("nan", "inf", "-inf"):
    make("shown:gauge", F.GAUGE, {"v": v}).set(float(v))
spread = make("shown_histogram", F.HISTOGRAM, {"a": "b"}, [0.1, 1, 5.5, 1e10, 1e20])
for v in (0.1, 3, 100, -1):
    spread.observe(v)
make("shown_histogram", F.HISTOGRAM, {"none": "yet"}, [])
kept.append(F("shown_family", "without metrics", F.GAUGE))
"""


def shown(target, word):
    """Lines of the metrics page with a word; their order is a hash table's."""
    return sorted(line for line in target.metrics().splitlines() if word in line)


def test_metrics_are_shown_while_their_family_lives(agree):
    """The metrics page has them in Prometheus' text format while the family exists."""

    def case(target):
        run(target, SHOWN)
        lines = shown(target, "shown")
        run(target, "del pb_utils.kept; import gc; gc.collect()")
        deadline = time.monotonic() + 60
        # Triton's server hears of it a little later.
        while (left := shown(target, "shown")) and time.monotonic() < deadline:
            pass
        return [lines, left]

    agree(case)


@rows("r5.4/nv_inference_request_duration_us-nv_inference_queue_duration_us")
def test_the_server_counts_requests(agree):
    """Each model that serves has counters of requests, from its load on."""

    def case(target):
        target.unload("counter")
        ask(target, "counter")
        ask(target, "counter")
        head = [line for line in shown(target, "nv_inference") if line[0] == "#"]
        lines = [line for line in shown(target, 'model="counter"')]
        counts = [line for line in lines if "duration" not in line]
        durations = [line.partition(" ")[0] for line in lines if "duration" in line]
        return [head, counts, durations]

    agree(case)
