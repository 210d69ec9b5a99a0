"""Any tree of calls computes what plain Python does, and its trace is correct."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from asserting import every, some
from hypothesis import given, seed, settings
from strategies import Node, call_trees, examples
from views.encoded import decode, encode
from waiting import until

from blsnb import InferenceError, Run, Server
from blsnb.parts.server_parts import parts_of
from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Span, Trace
from blsnb.views.callgraph import call_graph
from blsnb.views.columns import columns_of
from blsnb.views.tree import tree

from .oracle import CONFIG, DECOUPLED, LEVELS, NOBODY, SOURCE, Oracle

TREES = call_trees(LEVELS - 1)
PROPERTY = examples(120)
_TIMES = (
    "request_start_ns",
    "queue_start_ns",
    "compute_start_ns",
    "compute_input_end_ns",
    "compute_output_start_ns",
    "compute_end_ns",
    "request_end_ns",
)


def without_loop(text: str) -> str:
    """Take the event loop's own frames out of an error: not every Python has them."""
    return re.sub(r"  \S*/lib/python3\.\d+/\S+\(\d+\): \w+\n", "", text)


def eventually(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, which another thread is about to do."""
    assert until(is_so)


class Trees:
    """Runs trees of calls on loaded models."""

    def __init__(self, server: Server) -> None:
        self.server = server
        for level in range(LEVELS):
            server.define(f"level{level}", SOURCE, config=CONFIG)
            server.define(f"stream{level}", SOURCE, config=f"{DECOUPLED}\n{CONFIG}")
        self.oracle = Oracle(parts_of(server).repository.private_root)

    def run(self, node: Node) -> tuple[Run, InferenceError | None]:
        """Run a tree; a failure comes with the run to look at."""
        text = np.array([json.dumps(node).encode()], np.object_)
        try:
            run, failure = self.server.infer("level0", {"TREE": text}), None
        except InferenceError as error:
            run, failure = error.run, error
        # A stream has ended when its execute returns: its caller need not wait.
        eventually(lambda: not run.trace.running)
        return run, failure


@pytest.fixture
def trees(server: Server) -> Iterator[Trees]:
    """Models that execute a tree, one for each level."""
    return Trees(server)


def compute(trees: Trees, node: Node) -> Run:
    """Run a tree, and compare its result with that of plain Python."""
    answer = trees.oracle.run(node).answer
    run, error = trees.run(node)
    if answer.error:
        assert answer.error == without_loop(error.message)
        assert answer.code == error.code
        assert {} == run.outputs
    else:
        assert answer.total == run["SUM"][0]
    return run


def test_a_tree_of_calls_computes_what_plain_python_does(trees):
    """Its sum, or to the letter the error that reached the client, and its code."""

    @PROPERTY
    @given(TREES)
    def check(node):
        compute(trees, node)

    check()


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("part", range(3))
def test_thousands_of_trees_compute_what_plain_python_does(trees, part, figures):
    """Each trace has the shape of its tree."""
    seen = Counter()

    @seed(part)
    @settings(max_examples=7_000)
    @given(TREES)
    def check(node):
        trace = compute(trees, node).trace
        assert trees.oracle.run(node).shape() == _shape(trace, trace.spans[0])
        seen.update(trees=1, calls=len(trace.spans))

    check()
    figures(**seen)


def test_the_trace_of_a_tree_of_calls_is_that_tree(trees):
    """Each call below its caller with its error; refused and asynchronous ones, too."""

    @PROPERTY
    @given(TREES)
    def check(node):
        trace = trees.run(node)[0].trace

        assert (0,) == trace.roots
        assert trees.oracle.run(node).shape() == _shape(trace, trace.spans[0])

    check()


def _shape(trace: Trace, span: Span) -> tuple[object, ...]:
    below = [_shape(trace, trace.spans[row]) for row in trace.children[span.index]]
    asynchronous = bool(span.flags & CallFlag.ASYNC)
    model = trace.models[span.model].name
    error = without_loop(span.error)
    if model == NOBODY:
        # A refusal is recorded in the words of the server, without BLS's prefix.
        error = f"Model {model} - Error when running inference: {error}"
    return model, error, span.response_count, asynchronous, sorted(below, key=repr)


def test_every_call_lies_within_its_caller_and_has_an_end(trees):
    """Failed calls do, too; activities are in Triton's order."""

    @PROPERTY
    @given(TREES)
    def check(node):
        trace = trees.run(node)[0].trace

        assert not trace.running
        for span in some(trace.spans):
            reached = [ns for name in _TIMES if (ns := getattr(span, name))]
            assert sorted(reached) == reached
            assert span.request_start_ns
            assert span.request_end_ns
            assert bool(span.error) == bool(span.flags & CallFlag.ERROR)
            if span.parent >= 0:
                caller = trace.spans[span.parent]
                assert caller.request_start_ns <= span.request_start_ns
                # Its caller has all responses of a stream before it has ended.
                ends = [response.ns for response in span.responses]
                ends = ends or [span.request_end_ns]
                assert ends[-1] <= caller.request_end_ns

    check()


def test_phases_add_up_and_what_is_shown_is_what_was_recorded(trees):
    """Durations, rows of the page, call graph and text agree."""

    @PROPERTY
    @given(TREES)
    def check(node):
        trace = trees.run(node)[0].trace
        spans = trace.spans
        columns = columns_of(trace)
        durations = [span.duration_ns / 1000 for span in spans]
        assert np.allclose(np.nansum(columns.phases, axis=0), durations)
        assert (columns.own_us >= -1e-6).all()

        rows = decode(*encode(trace))
        assert [span.parent for span in spans] == rows["parent"].tolist()
        assert [int(span.flags) for span in spans] == rows["flags"].tolist()
        starts = [(span.request_start_ns - trace.start_ns) / 1000 for span in spans]
        assert starts == rows["start_us"].tolist()

        graph = call_graph(trace)
        made = Counter(trace.models[span.model].name for span in spans)
        assert made == {box.name: box.calls for box in graph.boxes}
        assert len(spans) - 1 == sum(edge.calls for edge in graph.edges)
        assert trace.error_count == sum(box.errors for box in graph.boxes)
        assert every(name in tree(trace) for name in made)

    check()


def test_statistics_count_what_the_traces_show(trees):
    """Executions and failures of every model; what a model refuses is no failure."""
    expected: Counter[tuple[str, bool]] = Counter()
    seen: Counter[str] = Counter()

    @PROPERTY
    @given(TREES)
    def check(node):
        expected.update(trees.oracle.run(node).executions())
        trace = trees.run(node)[0].trace
        seen.update(trace.models[s.model].name for s in trace.spans if s.execution)

        assert seen == Counter(name for name, _ in expected.elements())
        # A stream is counted a moment after its end.
        eventually(lambda: expected == counted(trees.server))

    check()


def counted(server: Server) -> Counter[tuple[str, bool]]:
    """Return how often each model was executed, and failed, by its statistics."""
    found: Counter[tuple[str, bool]] = Counter()
    for row in server.statistics()["model_stats"]:
        counts = row["inference_stats"]
        succeeded, failed = counts["success"]["count"], counts["fail"]["count"]
        assert row["execution_count"] == succeeded + failed
        found[row["name"], False] = succeeded
        found[row["name"], True] = failed
    return +found
