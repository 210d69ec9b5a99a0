"""Calls of a long run that are only counted are known to have been there."""

from __future__ import annotations

import gc

import numpy as np
from cells import CONFIG, DOUBLE, cell
from hypothesis import given
from hypothesis import strategies as st

from blsnb import Server, load_run
from blsnb.parts.server_parts import parts_of
from blsnb.trace.alignment import COUNTED, align
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.excerpt import part_of, shortened
from blsnb.trace.folding import fold
from blsnb.trace.gaps import Gap, Gaps, Numbered, between, numbered
from blsnb.trace.spans import Trace

MODELS = [
    ModelInfo(name, version, "python", "cpu", "model", "")
    for name, version in [("a", 1), ("b", 1), ("a", 2)]
]


def add_call(calls: list[Call], parent: Call | None, model: ModelInfo, at: int) -> Call:
    """Add an ended call with a unique start."""
    call = Call(model, parent, at - 1)
    call.request_start_ns = call.request_end_ns = at
    call.ended = True
    calls.append(call)
    return call


STEPS = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 30), st.integers(0, 2)),
        st.integers(0, 40).map(lambda room: ("fold", room)),
    ),
    max_size=60,
)


@st.composite
def folded_runs(draw: st.DrawFn) -> tuple[Trace, Trace]:
    """Draw a run, and the same run with some calls only counted."""
    kept: list[Call] = []
    add_call(kept, None, MODELS[0], 1).ended = False
    whole, gaps = list(kept), Gaps()
    for back, what in draw(STEPS):
        if back == "fold":
            before = list(kept)
            gaps.open(before, set(fold(kept, what)))
        else:
            parent = kept[max(0, len(kept) - 1 - back)]
            at = len(whole) + 1
            whole.append(add_call(kept, parent, MODELS[what], at))
    return trace_of("run", whole, 9), trace_of("run", kept, 9, gaps=gaps)


def twins(this: Trace, other: Trace) -> list[int]:
    """Return each call's row in the other trace; starts are unique."""
    rows = {span.request_start_ns: span.index for span in other.spans}
    return [rows.get(span.request_start_ns, COUNTED) for span in this.spans]


@given(folded_runs())
def test_every_call_that_is_kept_is_paired_with_itself(runs):
    """Calls may be dropped before it, after it, or with its caller."""
    whole, folded = runs
    found, back = align(folded, whole), align(whole, folded)

    assert twins(folded, whole) == list(found.baseline_of)
    assert twins(whole, folded) == list(back.baseline_of)
    assert () == found.new == found.missing == back.new == back.missing
    assert len(whole.spans) - len(folded.spans) == len(back.counted)


@given(folded_runs(), st.integers(0, 40))
def test_a_trace_that_a_page_can_hold_keeps_its_gaps(runs, most):
    """It keeps old gaps and gets new ones."""
    whole, folded = runs
    shown = shortened(folded, most)

    assert twins(shown, whole) == list(align(shown, whole).baseline_of)
    assert twins(whole, shown) == list(align(whole, shown).baseline_of)


@given(folded_runs(), st.data())
def test_a_part_of_a_trace_keeps_its_gaps(runs, data):
    """These are the gaps below its call."""
    whole, folded = runs
    row = data.draw(st.integers(0, len(folded.spans) - 1))
    part = part_of(folded, row)
    other = part_of(whole, twins(folded, whole)[row])

    assert twins(part, other) == list(align(part, other).baseline_of)


def test_numbers_of_kept_calls_are_those_among_all():
    """Gaps before, between and behind them are the same numbers."""
    gaps = {0: 2, 1: 1, 2: 3}

    assert Numbered({2: 50, 4: 70}, 8) == numbered([50, 70], gaps)
    assert gaps == dict(between([2, 4], 8))
    assert Numbered({0: 50, 1: 70}, 2) == numbered([50, 70], {})
    assert [] == [*between([0, 1], 2)]


def test_a_gap_is_where_the_calls_were():
    """It counts kept calls of one model by one caller before it."""
    calls: list[Call] = []
    root = add_call(calls, None, MODELS[0], 1)
    for at in range(2, 12):
        add_call(calls, root, MODELS[1], at)
    gaps = Gaps()
    leaving = {calls[1], calls[4], calls[5], calls[10]}
    gaps.open(calls, leaving)
    kept = [call for call in calls if call not in leaving]

    assert (Gap(0, 1, 0, 1), Gap(0, 1, 2, 2), Gap(0, 1, 6, 1)) == (
        trace_of("run", kept, 9, gaps=gaps).gaps
    )


def test_a_removed_caller_is_not_held_by_the_gaps_of_its_calls():
    """An endless run would keep the callers that it only counts."""
    calls, gaps = [], Gaps()
    top = add_call(calls, None, MODELS[0], 1)
    caller = add_call(calls, top, MODELS[1], 2)
    inner = [add_call(calls, caller, MODELS[0], at) for at in (3, 4, 5)]
    gaps.open(calls, {inner[1]})
    gaps.open([each for each in calls if each is not inner[1]], {inner[0]})
    left = [top, caller, inner[2]]
    gaps.open(left, {caller, inner[2]})

    held = gc.get_referents(*gc.get_referents(gaps), *gaps._behind)
    assert not {id(caller), *map(id, inner)} & set(map(id, held))


def test_gaps_of_two_models_are_counted_one_by_one():
    """Calls of the other model, and by another caller, do not count."""
    calls: list[Call] = []
    root = add_call(calls, None, MODELS[0], 1)
    for at in range(2, 12):
        add_call(calls, root if at != 5 else calls[1], MODELS[1 + at % 2], at)
    gaps = Gaps()
    leaving = {calls[7], calls[8]}
    gaps.open(calls, leaving)
    kept = [call for call in calls if call not in leaving]

    assert 2 == len({call.model for call in leaving})
    assert (Gap(0, 0, 2, 1), Gap(0, 1, 3, 1)) == (
        trace_of("run", kept, 9, gaps=gaps).gaps
    )


def loop(size: int) -> str:
    """Return a run of a model that calls another one ``size`` times."""
    return cell(f"""
    for _ in range({size}):
        ask("inner", request).exec()
    return [reply(x_of(request))]
    """)


def test_two_long_runs_are_compared_though_the_older_one_was_folded(tmp_path):
    """One loop is three calls shorter; nothing else is new or missing."""
    with Server() as server:
        parts_of(server).recorder.keep_calls = 200
        server.define("inner", DOUBLE, config=CONFIG)
        server.define("outer", loop(150), config=CONFIG)
        before = server.infer("outer", {"X": np.ones(1, np.float32)})
        server.define("outer", loop(147), config=CONFIG)
        after = server.infer("outer", {"X": np.ones(1, np.float32)})
        compared = after.compare(before).trace.alignment
        again = load_run(after.save(tmp_path / "after.blsrun"))
        older = load_run(before.save(tmp_path / "before.blsrun"))

    assert 100 > len(before.trace.spans)
    assert ((), 3) == (compared.new, len(compared.missing))
    assert compared.counted
    assert compared.baseline_of == align(again.trace, older.trace).baseline_of
