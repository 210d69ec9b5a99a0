"""Whatever runs, trims and files come, a call's values are its own or reported lost."""

from __future__ import annotations

import json
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, cell
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule
from views.encoded import decode

from blsnb import InferenceError, Run, Server, load_run, load_trace
from blsnb.errors import TraceError
from blsnb.trace.dropped import find_call
from blsnb.trace.excerpt import by_importance
from blsnb.trace.spans import Span
from blsnb.views.documents import embed, wire
from blsnb.views.live.trace_view import TraceView

MAX_CALLS = 40
CALLS = st.integers(0, MAX_CALLS + 2) | st.just(-1)
LOOP = cell("""
count, first = map(int, x_of(request))
for k in range(count):
    values = pb_utils.Tensor("X", np.full(2, first + k, np.float32))
    pb_utils.InferenceRequest(
        model_name="double", inputs=[values], requested_output_names=["Y"]
    ).exec()
return [reply(x_of(request))]
""")


class Page(TraceView):
    """A page that was made at the end of the run, and queries its kernel later."""

    def send(self, content, buffers=None):
        self.answer = content

    def ask(self, call: int) -> dict:
        query = {"v": 1, "type": "tensors", "id": 1, "run": self.run_id, "call": call}
        self._handle_custom_msg(query, [])
        return self.answer


@dataclass(eq=False)
class Known:
    """A run, with inputs and outputs of each of its calls."""

    run: Run
    values: list[tuple[list[float], list[float]]]
    page: Page
    pinned: dict[int, bool] = field(default_factory=dict)
    """Of each call kept when the run was pinned, whether it had its values."""
    loaded: bool = False
    """Whether the run was read from a file."""


class Identity(RuleBasedStateMachine):
    """Tiny limits, and look-ups by every door."""

    runs = Bundle("runs")

    @initialize(
        target=runs,
        calls=st.sampled_from([0, 8, 30, 60, 200]),
        budget=st.sampled_from([1 << 20, 2000, 600, 200, 16, 0]),
    )
    def serve(self, calls, budget):
        self.server = Server(
            keep_calls=calls, trace_budget_bytes=budget, keep_runs=3, exit_timeout_s=1
        )
        self.server.define("double", DOUBLE, config=CONFIG)
        self.server.define("loop", LOOP, config=CONFIG)
        self.folder = tempfile.TemporaryDirectory()
        self.first = 100
        return self._infer(MAX_CALLS)

    def teardown(self):
        if hasattr(self, "server"):
            self.server.close()
            self.folder.cleanup()

    @rule(target=runs, count=st.sampled_from([MAX_CALLS, 25, 8, 1, 0]))
    def infer(self, count):
        return self._infer(count)

    def _infer(self, count):
        first, self.first = self.first, self.first + 2 * MAX_CALLS
        run = self.server.infer("loop", {"X": [count, first]})
        values = [([float(count), float(first)],) * 2]
        values += [([float(k)] * 2, [2.0 * k] * 2) for k in range(first, first + count)]
        return Known(run, values, Page(lambda: run.trace))

    @rule(known=runs)
    def keep(self, known):
        if not known.loaded and not known.pinned:
            known.run.keep()
            kept = known.run.trace.spans
            known.pinned = {span.id: not lost(span) for span in kept}

    @rule(target=runs, known=runs, budget=st.sampled_from([0, 40, None]))
    def save_and_load(self, known, budget):
        path = Path(self.folder.name) / "run.blsrun"
        before = [span.id for span in known.run.trace.spans]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            known.run.save(path, budget_bytes=budget)
        loaded = load_run(path)
        after = [span.id for span in loaded.trace.spans]
        assert after == before
        assert loaded.trace.drops == known.run.trace.drops
        return Known(loaded, known.values, Page(lambda: loaded.trace), loaded=True)

    @rule(known=runs, call=CALLS)
    def look_at_the_trace(self, known, call):
        check_lookup(known, call, lambda: find_call(known.run.trace, call))
        for span in known.run.trace.spans:
            check_span(known, span)

    @rule(known=runs, call=CALLS)
    def ask_the_kernel(self, known, call):
        answer = known.page.ask(call)
        error = answer.get("error")
        if error is not None:
            check_error(known, call, error["text"], error["code"] == "dropped")
            return
        for entry, expected in zip(
            answer["tensors"], values_of(known, call), strict=True
        ):
            if entry["evicted"]:
                assert (
                    "no longer kept" in answer["lacks"] or "not hold" in answer["lacks"]
                )
            else:
                assert expected == list(map(float, entry["preview"]["values"]))

    @rule(known=runs)
    def open_a_new_page(self, known):
        trace = known.run.trace
        header, buffer = wire.assemble(trace)
        order = by_importance(trace)
        tensors = embed.embed(trace, order, buffer)
        columns = decode(header, bytes(buffer))
        ids = columns.get("id", np.arange(header["n"])).tolist()
        assert [span.id for span in trace.spans] == ids
        assert {-1, *ids} >= set(columns["parent"].tolist())
        for call, entries in tensors.items():
            for entry, expected in zip(
                entries, values_of(known, int(call)), strict=True
            ):
                if not entry["evicted"]:
                    assert expected == list(map(float, entry["preview"]["values"]))
        dropped = header["run"].get("dropped", {})
        assert (len(ids) < len(known.values)) == ("calls" in dropped)
        if not known.loaded:
            assert any(map(lost, trace.spans)) == ("values" in dropped)

    @rule(known=runs, call=CALLS)
    def replay(self, known, call):
        try:
            replayed = known.run.replay(call, server=self.server)
        except TraceError as error:
            check_error(known, call, str(error), "no longer" in str(error))
        else:
            _, answered = values_of(known, call)
            assert answered == replayed.this["Y"].tolist()
            assert call == replayed.baseline.trace.spans[0].id
            if not any(ref.evicted for ref in replayed.baseline.trace.spans[0].outputs):
                assert answered == replayed.baseline["Y"].tolist()

    @rule(this=runs, other=runs)
    def compare(self, this, other):
        for change in this.run.compare(other.run).changes:
            for tensor in change.tensors:
                at = int(tensor.role == "output")
                pairs = (
                    (tensor.difference.this, values_of(this, change.call)),
                    (tensor.difference.baseline, values_of(other, change.baseline)),
                )
                for ref, expected in pairs:
                    assert ref.evicted or expected[at] == ref.view().tolist()

    @rule(known=runs, call=st.integers(1, MAX_CALLS))
    def stand_in(self, known, call):
        if call >= len(known.values):
            return
        sent, answered = known.values[call]
        with self.server.standing_in("double", replay=known.run):
            found, lost = self._answer(sent)
        assert found == answered or "lacks values" in lost or "only counts" in lost

    def _answer(self, sent):
        try:
            return self.server.infer("double", {"X": sent})["Y"].tolist(), ""
        except InferenceError as error:
            return None, error.message

    @rule(known=runs)
    def export(self, known):
        path = known.run.export_trace(Path(self.folder.name) / "trace.json")
        events = json.loads(path.read_text())
        assert {event["id"] - 1 for event in events} == {
            span.id for span in known.run.trace.spans
        }
        [imported] = load_trace(path)
        for span in imported.trace.spans:
            check_span(known, span)


def lost(span: Span) -> bool:
    return any(ref.evicted for ref in span.tensors)


def values_of(known: Known, call: int) -> tuple[list[float], list[float]]:
    return known.values[call]


def check_span(known: Known, span: Span) -> None:
    for ref, expected in zip(span.tensors, values_of(known, span.id), strict=True):
        assert ref.evicted or expected == ref.view().tolist()


def check_lookup(known: Known, call: int, look) -> None:
    try:
        span = look()
        assert call == span.id
        check_span(known, span)
    except TraceError as error:
        check_error(known, call, str(error), "no longer" in str(error))


def check_error(known: Known, call: int, text: str, dropped: bool) -> None:
    """What is missing is reported as what it is, and a pinned run misses nothing."""
    had_values = known.pinned.get(call)
    assert not had_values, text
    if known.loaded and "run.blsrun does not hold" in text:
        assert "run.keep() pins a run" in text
    elif 0 <= call < len(known.values):
        limit = "trace_budget_bytes=" if "value of" in text else "keep_calls="
        assert dropped, text
        assert limit in text, text
        assert "run.keep() pins a run" in text
    else:
        assert f"no call {call}; it" in text


class TestIdentity(Identity.TestCase):
    """A few short sequences with every test run."""

    settings = settings(max_examples=10, stateful_step_count=12, deadline=None)


@pytest.mark.slow
class TestIdentityLong(Identity.TestCase):
    """Many long ones."""

    settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
