"""Specification of the live widget: what it sends and what it answers."""

import dataclasses
from types import SimpleNamespace

import pytest
from traitlets import TraitError

from blsnb.results.traced import take_trace
from blsnb.trace.alignment import align
from blsnb.trace.recorder import Recorder
from blsnb.views.live.trace_view import TraceView
from views.encoded import decode

from ..samples import batch_run, edited_run, invoice_run, recorded, running_run

MS = 1_000_000


class Recorded(TraceView):
    """A view whose messages are stored instead of sent."""

    def __init__(self, trace, **options):
        self.sent = []
        super().__init__(trace, **options)

    def send(self, content, buffers=None):
        self.sent.append((content, buffers))

    def ask(self, **question):
        """Deliver a message as the page would; return the response."""
        before = len(self.sent)
        question = {"v": 1, "run": self.run_id} | question
        self._handle_custom_msg(question, [])
        (answer,) = self.sent[before:]
        return answer


@pytest.fixture
def view():
    shown = Recorded(invoice_run)
    yield shown
    shown.close()


def test_selection_and_filter_are_traits(view):
    """A notebook can set and observe them."""
    seen = []
    view.observe(lambda change: seen.append(change["new"]), "selected")
    view.selected = 4

    assert [4] == seen
    assert (-1, "") == (TraceView.selected.default_value, view.filter)
    assert {"selected", "filter", "height"} <= set(view.keys)


def test_the_baseline_is_a_trait(view):
    """A change sends the whole run with its baseline."""
    view.baseline = SimpleNamespace(trace=edited_run())
    [(message, [buffer])] = view.sent
    header = message["header"]
    beside = decode(header, buffer)["baseline"].tolist()

    assert ("snapshot", 27) == (message["type"], header["baseline"]["n"])
    assert list(align(invoice_run(), edited_run()).baseline_of) == beside
    assert "missing" in view._repr_mimebundle_()[0]["text/plain"]
    assert "baseline" in view.ask(type="hello")[0]["header"]
    view.baseline = None
    assert "baseline" not in view.sent[-1][0]["header"]
    assert view.sent[-1][0]["seq"] > message["seq"]


def test_only_a_run_can_be_a_baseline(view):
    """Anything else is an error."""
    told = r"^baseline='yesterday' is not valid; expected a run or None$"
    with pytest.raises(TraitError, match=told):
        view.baseline = "yesterday"
    given = Recorded(invoice_run, baseline=SimpleNamespace(trace=edited_run()))
    assert "baseline" in given.ask(type="hello")[0]["header"]
    given.close()


def test_the_run_has_its_page_id_from_its_first_call_on():
    """The finished document finds the widget by this id."""
    empty = type(invoice_run())("run-7f3a", "", "", (), (), 0)
    now = [empty]
    view = Recorded(lambda: now[0])
    before = view.run_id
    now[0] = invoice_run()
    view.tick(0)

    assert ["", view.sent[0][0]["header"]["run"]["id"]] == [before, view.run_id]
    view.close()


def test_a_tick_sends_the_trace_and_the_next_one_waits(view):
    """The view decides by the time that it receives."""
    assert [True, False, True] == [view.tick(ms * MS) for ms in (0, 50, 100)]
    assert [1, 2] == [content["seq"] for content, _ in view.sent]


def test_a_message_holds_a_header_and_one_buffer(view):
    """Both decode to the calls of the trace."""
    view.tick(0)
    content, (buffer,) = view.sent[0]

    assert "snapshot" == content["type"]
    assert 27 == len(decode(content["header"], buffer)["parent"])


def test_only_new_and_open_rows_of_a_large_trace_are_sent():
    """Open rows have grown, closed ones have not."""
    large = batch_run(1600)
    now = [type(large)("0", "t", "", large.models, large.spans[:900], 0)]
    view = Recorded(lambda: now[0])
    view.tick(0)
    now[0] = large
    view.tick(100 * MS)
    content, (buffer,) = view.sent[-1]

    assert "rows" == content["type"]
    rows = decode(content["header"], buffer)["id"].tolist()
    assert list(range(900, 1600)) == rows
    view.close()


def test_an_open_row_is_sent_again_until_it_has_ended():
    """Durations grow on the page, and end where the call ended."""
    running = running_run()
    spans = tuple(
        dataclasses.replace(span, index=row, id=row)
        for row, span in enumerate(tuple(running.spans) * 40)
    )
    now = [type(running)("0", "t", "", running.models, spans, running.taken_ns)]
    view = Recorded(lambda: now[0])
    view.tick(0)
    view.tick(100 * MS)
    content, (buffer,) = view.sent[-1]

    open_ = [span.id for span in spans if span.running]
    assert "rows" == content["type"]
    assert open_ == list(decode(content["header"], buffer)["id"].tolist())
    view.close()


def test_a_call_that_starts_late_changes_no_call_that_was_sent(view):
    """Its id is lower than those that were sent, and its model is new."""
    whole = batch_run(1600)
    late = dataclasses.replace(whole.spans[700], model=len(whole.models))
    models = (*whole.models, invoice_run().models[3])
    early = [span for span in whole.spans[:900] if span.id != late.id]
    early = [dataclasses.replace(span, index=at) for at, span in enumerate(early)]
    spans = [*whole.spans[:700], late, *whole.spans[701:900]]
    # Its model was met first now, so that the others have other places.
    first = (models[-1], *models[:-1])
    spans = [
        dataclasses.replace(span, model=(span.model + 1) % len(models))
        for span in spans
    ]
    now = [type(whole)("0", "t", "", whole.models, tuple(early), 0)]
    growing = Recorded(lambda: now[0])
    growing.tick(0)
    now[0] = type(whole)("0", "t", "", first, tuple(spans), 0)
    growing.tick(100 * MS)
    (before, _), (after, (buffer,)) = growing.sent
    names = [
        [model["name"] for model in m["header"]["models"]] for m in (before, after)
    ]
    sent = decode(after["header"], buffer)
    growing.close()

    assert ("rows", [late.id]) == (after["type"], sent["id"].tolist())
    assert names[0] == names[1][: len(names[0])]
    assert models[-1].name == names[1][sent["model"][0]]


def test_calls_keep_their_ids_when_others_are_dropped():
    """The page receives what was dropped and by which limit; the selection stays."""
    recorder = Recorder(keep_calls=60, keep_runs=2)
    run = recorded(recorder, 50)
    view = Recorded(lambda: take_trace(run))
    view.selected = 50
    view.tick(0)
    recorded(recorder, 50)
    view.finish(100 * MS)
    snapshot, (buffer,) = view.sent[-2]
    ids = decode(snapshot["header"], buffer)["id"].tolist()
    said = view.ask(type="tensors", id=1, call=25)[0]["error"]
    kept = view.ask(type="tensors", id=2, call=view.selected)[0]
    view.close()

    assert [span.id for span in take_trace(run).spans] == ids
    assert len(ids) < 51
    assert snapshot["header"]["run"]["dropped"] == said["dropped"] == kept["dropped"]
    assert ("dropped", 50) == (said["code"], view.selected)
    assert "call 25 is no longer kept: keep_calls=60" in said["text"]
    assert ["50.0", "50.0"] == kept["tensors"][0]["preview"]["values"]


def test_a_view_that_is_slow_to_send_sends_seldom(view, watch):
    """Sending takes at most a tenth of the time of the model."""
    watch.step_ns = 30 * MS
    sent = [view.tick(ms * MS) for ms in (0, 100, 299, 300)]

    assert [True, False, False, True] == sent


def test_finish_sends_the_whole_trace_and_that_the_run_has_ended(view):
    """A page that missed messages ends with the whole run."""
    view.tick(0)
    view.finish(1)

    assert ["snapshot", "snapshot", "finished"] == [m["type"] for m, _ in view.sent]


@pytest.mark.parametrize("kind", ["hello", "resync"])
def test_hello_and_resync_are_answered_with_a_snapshot(view, kind):
    """Its number is that of the last message."""
    view.tick(0)
    view.tick(100 * MS)
    content, _ = view.ask(type=kind, have=0)

    assert ("snapshot", 2) == (content["type"], content["seq"])


def test_a_query_for_tensors_is_answered_with_entries_and_previews(view):
    """The answer has the id of the query."""
    content, (buffer,) = view.ask(type="tensors", id=7, call=2)

    assert ("answer", 7) == (content["type"], content["id"])
    pixels, scores, boxes = content["tensors"]
    assert ("PIXELS", "input", "image") == (
        pixels["name"],
        pixels["role"],
        pixels["preview"]["kind"],
    )
    assert ("SCORE_MAP", "output") == (scores["name"], scores["role"])
    offset, count = boxes["preview"]["data"]
    assert 24 * 4 == len(buffer[offset : offset + count])


def test_a_tensor_of_a_stream_has_the_number_of_its_response(view):
    """Responses are counted from 0."""
    content, _ = view.ask(type="tensors", id=1, call=23)

    assert [0, 1, 2] == [entry["response"] for entry in content["tensors"][:3]]


@pytest.mark.parametrize(("mode", "kind"), [("grid", "grid"), ("image", "image")])
def test_a_slice_is_answered_in_the_mode_of_the_query(view, mode, kind):
    """Sliders and buttons of the inspector send such queries."""
    index = [0, 2] if mode == "grid" else [0]
    content, (buffer,) = view.ask(
        type="slice", id=3, call=2, tensor=1, index=index, mode=mode
    )

    shown = content["preview"]
    assert (kind, index) == (shown["kind"], shown["index"])
    assert shown["data"][1] == len(buffer)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"call": 27}, "the run has no call 27; its calls are 0 to 26"),
        ({"call": -1}, "the run has no call -1"),
        ({"call": "0"}, "call='0' is not valid; expected the id of a call"),
        ({"call": True}, "call=True is not valid"),
        ({"tensor": 9}, "tensor=9 is not valid; expected a number from 0 to 2"),
        ({"call": 16}, "tensor=1 is not valid; expected a call with tensors"),
        ({"index": [0, 9]}, "outside the leading axes"),
        ({"index": "0"}, "index='0' is not valid; expected a list of numbers"),
        ({"index": [0.5, 0]}, "expected a list of numbers"),
        ({"mode": "__import__"}, "'grid' or 'image'"),
    ],
)
def test_a_malformed_query_is_answered_with_an_error(view, wrong, reason):
    """Messages of a page are checked for range and type, and never evaluated."""
    question = {"call": 2, "tensor": 1, "index": [0, 0], "mode": "grid"} | wrong
    content, _ = view.ask(type="slice", id=5, **question)

    assert (1, 5) == (content["v"], content["id"])
    assert "invalid" == content["error"]["code"]
    assert reason in content["error"]["text"]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"v": 2}, "version"),
        ({"run": "0001-1"}, "gone"),
        ({"type": "x"}, "unsupported"),
    ],
)
def test_a_query_of_another_version_run_or_type_is_answered_with_its_code(
    view, wrong, code
):
    """The code says why a page of another release or kernel does not fit."""
    content, _ = view.ask(**{"type": "tensors", "id": 5, "call": 2} | wrong)

    assert code == content["error"]["code"]
    assert [1] == content["error"].get("versions", [1])


def test_a_slice_of_a_value_that_is_no_longer_kept_is_dropped(view):
    """The text names the reason, and how a run keeps its values."""
    query = {"tensor": 1, "index": [], "mode": "grid"}
    content, _ = view.ask(type="slice", id=5, call=3, **query)

    assert "dropped" == content["error"]["code"]
    assert "no longer kept. run.keep() pins" in content["error"]["text"]


@pytest.mark.parametrize(
    "content", [{}, {"type": "other"}, {"type": "hello"}, "text", None]
)
def test_an_unknown_message_gets_no_answer(view, content):
    """It changes nothing and raises nothing."""
    view._handle_custom_msg(content, [])

    assert [] == view.sent


def test_a_running_view_is_widget_picture_and_text(view):
    """Readers without widgets see the run so far."""
    data, _ = view._repr_mimebundle_()

    assert {
        "application/vnd.jupyter.widget-view+json",
        "text/html",
        "text/plain",
    } == set(data)
    assert data["text/html"].startswith("<img")
    assert "<script" not in data["text/html"]


def test_a_second_thread_does_not_flush_at_the_same_time(view):
    """Two events at once are one message, and no thread waits."""
    nested = []
    whole_trace = view._trace

    def trace():
        nested.append(view.tick(0))
        return whole_trace()

    view._trace = trace

    assert view.tick(0)
    assert [False] == nested


def test_the_representation_is_one_line(view):
    """A repr names the run and holds no rows."""
    assert "<TraceView of run run-7f3a>" == repr(view)


def test_a_query_that_fails_unexpectedly_is_answered(caplog):
    """The page does not wait forever."""
    trace = invoice_run()
    view = Recorded(lambda: trace)
    trace = None
    answer, _ = view.ask(type="tensors", id=7, call=0)
    view.close()

    assert ("answer", 7) == (answer["type"], answer["id"])
    assert "failed" == answer["error"]["code"]
    assert "AttributeError" in answer["error"]["text"]
    assert "a query failed" in caplog.text
