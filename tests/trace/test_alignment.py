"""Which call of a run was which of an earlier one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from blsnb.trace.alignment import Alignment, align
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.excerpt import shortened
from blsnb.trace.spans import Trace


def model(name: str, version: int = 1, kind: str = "model") -> ModelInfo:
    return ModelInfo(name, version, "python", "cpu", kind, "")


def run(*calls: tuple[int, str | ModelInfo]) -> Trace:
    """Return a trace of calls, each with its caller's row, in order of start."""
    made: list[Call] = []
    for parent, named in calls:
        info = model(named) if isinstance(named, str) else named
        call = Call(info, made[parent] if parent >= 0 else None, len(made))
        call.request_start_ns = len(made) + 1
        call.request_end_ns = len(made) + 10
        made.append(call)
    return trace_of("run", made, 0)


PIPELINE = [(-1, "outer"), (0, "a"), (0, "b"), (0, "a"), (2, "leaf")]


def test_equal_runs_align_row_by_row():
    """Nothing is new, nothing is missing."""
    found = align(run(*PIPELINE), run(*PIPELINE))

    assert (0, 1, 2, 3, 4) == found.baseline_of
    assert () == found.new == found.missing
    assert [(row, row) for row in range(5)] == list(found.pairs)


def test_calls_are_the_same_by_caller_model_and_occurrence():
    """Other calls between them do not matter."""
    after = run((-1, "outer"), (0, "b"), (0, "x"), (0, "a"), (0, "a"), (1, "leaf"))
    found = align(after, run(*PIPELINE))

    assert (0, 2, -1, 1, 3, 4) == found.baseline_of
    assert (2,) == found.new
    assert () == found.missing


def test_the_callees_of_a_missing_call_are_missing_too():
    """They were not made, either."""
    found = align(run((-1, "outer"), (0, "a"), (0, "leaf")), run(*PIPELINE))

    assert (0, 1, -1) == found.baseline_of
    assert (2, 3, 4) == found.missing


def test_a_shorter_loop_misses_its_last_calls_a_longer_one_has_new_ones():
    """The first calls are paired."""
    short = run((-1, "outer"), *[(0, "a")] * 3)
    long = run((-1, "outer"), *[(0, "a")] * 5)

    assert (4, 5) == align(short, long).missing
    assert (0, 1, 2, 3, -1, -1) == align(long, short).baseline_of


def test_a_new_version_is_the_same_model():
    """A stand-in is the same model, too; a span of the same name is not."""
    before = run((-1, "outer"), (0, "a"))
    after = run((-1, model("outer", 2)), (0, model("a", 3)))

    assert (0, 1) == align(after, before).baseline_of
    stood_in = run((-1, "outer"), (0, model("a", kind="stand-in")))
    assert (0, 1) == align(after, stood_in).baseline_of
    spanned = run((-1, "outer"), (0, model("a", kind="span")))
    assert (0, -1) == align(spanned, before).baseline_of


def test_runs_of_different_models_have_nothing_in_common():
    """Everything is new, and everything is missing."""
    found = align(run((-1, "one"), (0, "a")), run((-1, "other"), (0, "a")))

    assert ((-1, -1), (0, 1)) == (found.baseline_of, found.missing)
    assert ((-1,), ()) == (align(run((-1, "a")), run()).baseline_of, run().roots)


def test_new_and_missing_calls_that_a_trace_only_counts_are_counted():
    """A part of a run has the same numbers as the whole one."""
    short = run((-1, "outer"), (0, "a"), *[(1, "leaf")] * 2)
    long = run((-1, "outer"), *[(0, "a")] * 300, *[(2, "leaf")] * 50)
    part = shortened(long, 20)

    assert len(part.spans) < 30
    for whole_or_part in (long, part):
        assert (349, 2) == counts(align(whole_or_part, short))
        assert (2, 349) == counts(align(short, whole_or_part))
    assert (0, 0) == counts(align(long, part)) == counts(align(part, long))


def counts(found: Alignment) -> tuple[int, int]:
    return found.new_count, found.missing_count


def test_deep_recursion_is_aligned():
    """The recursion is deeper than Python's own stack."""
    deep = run((-1, "f"), *((row, "f") for row in range(5000)))

    assert tuple(range(5001)) == align(deep, deep).baseline_of


@st.composite
def runs(draw: st.DrawFn) -> Trace:
    size = draw(st.integers(0, 12))
    return run(
        *(
            (draw(st.integers(-1, row - 1)), draw(st.sampled_from("abc")))
            for row in range(size)
        )
    )


@given(this=runs(), baseline=runs())
def test_every_call_is_paired_once_or_not_at_all(this, baseline):
    """Pairs have the same model, paired callers and the same order."""
    found = align(this, baseline)
    back = align(baseline, this)

    assert (len(found.new), len(found.missing)) == counts(found)
    paired = [at for at in found.baseline_of if at >= 0]
    assert len(paired) == len(set(paired))
    assert sorted([*paired, *found.missing]) == list(range(len(baseline.spans)))
    for row, at in found.pairs:
        here, there = this.spans[row], baseline.spans[at]
        assert this.models[here.model] == baseline.models[there.model]
        above = -1 if here.parent < 0 else found.baseline_of[here.parent]
        assert there.parent == above
        # Either of them may be the baseline.
        assert row == back.baseline_of[at]
    # Nothing is left unpaired that could be: no caller lacks and misses one model.
    for row in found.new:
        name, parent = this.models[this.spans[row].model].name, this.spans[row].parent
        above = -1 if parent < 0 else found.baseline_of[parent]
        if parent >= 0 and above < 0:
            continue
        alike = [
            at
            for at in found.missing
            if baseline.spans[at].parent == above
            and baseline.models[baseline.spans[at].model].name == name
        ]
        assert [] == alike
