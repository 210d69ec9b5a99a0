"""Specification of how runs show themselves."""

import json
import threading
import time
from types import SimpleNamespace

import pytest
from asserting import every, some
from IPython.utils.capture import capture_output

from blsnb.magics import default_server as default
from blsnb.magics import display
from blsnb.magics.runs import places, show
from blsnb.magics.runs.live_runs import ActiveRun
from blsnb.magics.runs.places import CellPlaces
from blsnb.magics.runs.show import RunDisplay
from blsnb.results.run import source_of
from blsnb.trace.run_record import RunRecord

from ..models import DOUBLE, OUTER, infer

LOOP = "import blsnb\nfor _ in range({}):\n    blsnb.infer('double', {{'X': [1.0]}})"


@pytest.fixture
def double(notebook):
    notebook.run(DOUBLE)
    return notebook


def documents(ran):
    return [out for out in ran.outputs if "blsnb-run" in out.get("text/html", "")]


def test_a_run_shows_itself_once_at_the_end_of_its_cell(double):
    """It is shown as document and as tree."""
    ran = double.run(infer("double"))

    [shown] = ran.outputs
    assert shown["text/plain"].startswith("double: ")
    assert "blsnb-run" in shown["text/html"]


def test_a_run_that_is_the_cells_value_is_shown_once(double):
    """It is shown as the value."""
    ran = double.run("import blsnb\nblsnb.infer('double', {'X': [1.0]})")

    assert 1 == len(ran.outputs) == len(documents(ran))


def test_a_run_that_was_displayed_is_not_shown_again(double):
    """It is not shown again even if its name is the last line."""
    ran = double.run(
        f"{infer('double')}\nfrom IPython.display import display\ndisplay(run)\nrun"
    )

    assert 1 == len(documents(ran)) == len(ran.outputs)


def test_a_run_of_an_earlier_cell_can_be_shown_again(double):
    """A cell with its name shows it completely."""
    double.run(infer("double"))
    ran = double.run("run")

    assert 1 == len(ran.outputs) == len(documents(ran))


def test_a_comparison_shows_both_runs_and_neither_again(double):
    """Its text lists the changes."""
    double.run(f"{infer('double')}\nbefore = run")
    double.run(DOUBLE.replace("x * 2", "x * 2.5"))
    ran = double.run(f"{infer('double')}\nrun.compare(before)")

    [shown] = documents(ran)
    assert "2 of 2 differ; most by 1 at [1]: 5, was 4" in shown["text/plain"]
    assert [shown] == ran.outputs


def test_a_replay_shows_both_responses(double):
    """There is no second document for the new run."""
    double.run(infer("double"))
    double.run(DOUBLE.replace("x * 2", "x * 3"))
    ran = double.run("run.replay(0)")

    [shown] = ran.outputs
    assert "most by 2 at [1]: 6, was 4" in shown["text/plain"]
    assert "<Comparison double: vs" in repr(ran.value)


def test_the_widget_of_a_run_takes_the_place_of_its_picture(double, monkeypatch):
    """In a page, which keeps the picture; a program keeps the widget's state."""
    widget = "application/vnd.jupyter.widget-view+json"
    view = double.run(
        "import blsnb\nblsnb.infer('double', {'X': [1.0]}).widget()"
    ).value
    formatter = double.shell.display_formatter.mimebundle_formatter
    program, _ = formatter(view)
    monkeypatch.setattr(display, "has_page", lambda shell: True)
    page, _ = formatter(view)

    assert {widget, "text/html", "text/plain"} == set(program)
    assert {"text/html", "text/plain"} == set(page)
    assert page["text/html"].startswith("<div><img")
    assert 'get("' in page["text/html"]


def test_a_failed_run_shows_itself(double):
    """The failed call can be inspected."""
    ran = double.run("import blsnb\nblsnb.infer('double', {'X': [[1.0]]})")

    assert ran.error is not None
    assert 1 == len(documents(ran))


def test_bls_calls_are_not_runs(double):
    """One client request is one run."""
    double.run(OUTER)
    ran = double.run(infer("outer"))

    assert 1 == len(documents(ran))


def test_three_runs_are_shown_open(double):
    """All runs of a cell with a few runs are shown."""
    ran = double.run(LOOP.format(3))

    assert 3 == len(documents(ran))
    assert not any(
        "<details><summary>double" in o["text/html"] for o in some(ran.outputs)
    )


def test_from_the_fourth_on_runs_start_collapsed(double):
    """A click on the title unfolds them."""
    ran = double.run(LOOP.format(5))

    titles = [
        o["text/html"].startswith("<details><summary>double") for o in ran.outputs
    ]
    assert [False] * 3 + [True] * 2 == titles


def test_beyond_twelve_a_line_says_how_many_more(double):
    """The last run is always shown, since a failing loop ends with the failure."""
    ran = double.run(LOOP.format(14) + "\nblsnb.infer('double', {'X': [[1.0]]})")

    one = double.run(LOOP.format(13)).texts[-1]
    assert "… 1 run before the last is not shown" == one
    assert "… 3 runs before the last are not shown" == ran.texts[-1]
    assert 12 == len(documents(ran))
    assert "1 failed" in documents(ran)[-1]["text/plain"]


def test_the_first_run_of_a_cell_carries_the_code_of_all(double):
    """Twelve small runs of one cell take at most 300 KB, one at most 75 KB."""
    outputs = documents(double.run(LOOP.format(12)))
    sizes = [len(output["text/html"]) for output in outputs]

    assert [True] + [False] * 11 == [
        'const own = "+,^C' in output["text/html"] for output in outputs
    ]
    assert sizes[0] <= 75_000
    assert sum(sizes) <= 300_000


def test_where_the_first_run_is_shown_elsewhere_the_next_one_carries_the_code(double):
    """A comparison shows its runs itself."""
    double.run(f"{infer('double')}\nbefore = run")
    ran = double.run(
        f"{LOOP.format(1)}\n{infer('double')}\n{infer('double')}".replace(
            "    blsnb.infer", "    first = blsnb.infer"
        )
        + "\nfirst.compare(before)"
    )
    outputs = documents(ran)

    assert [True, False, True] == [
        'const own = "+,^C' in output["text/html"] for output in outputs
    ]


def test_nothing_is_shown_when_switched_off(double, settings):
    """With blsnb.options.show = False only the value of a later cell is shown."""
    settings.show = False
    assert [] == double.run(infer("double")).outputs
    assert [] == double.run(f"{infer('double')}\nrun").outputs
    assert 1 == len(documents(double.run("run")))
    shown = double.run(
        f"{infer('double')}\nfrom IPython.display import display\ndisplay(run)"
    )
    assert 1 == len(documents(shown))


@pytest.mark.parametrize("wanted", [True, False])
def test_previews_can_be_left_out(double, settings, monkeypatch, wanted):
    """blsnb.options.embed_previews = False embeds only statistics."""
    asked = []

    def document(trace, *, embed_previews, carries_code):
        asked.append(embed_previews)
        return {"text/plain": "a document"}

    monkeypatch.setattr("blsnb.views.documents.document.mimebundle", document)
    settings.embed_previews = wanted
    double.run(infer("double"))

    assert [wanted] == asked


@pytest.mark.slow
def test_a_picture_can_be_added(double, settings):
    """blsnb.options.static = "png" is for LaTeX and PDF."""
    settings.static = "png"
    [shown] = double.run(infer("double")).outputs

    assert shown["image/png"].startswith(b"\x89PNG")


def test_runs_of_a_server_that_starts_later_are_shown(notebook):
    """The extension is loaded before the server exists."""
    assert default.started() is None
    notebook.run(DOUBLE)

    assert 1 == len(documents(notebook.run(infer("double"))))


# Asks before, during and after the cells that follow.
CLIENT = """import threading
import blsnb
enough, asked = threading.Event(), threading.Semaphore(0)
def ask():
    while not enough.is_set():
        blsnb.infer("double", {"X": [1.0]})
        asked.release()
client = threading.Thread(target=ask)
client.start()
asked.acquire()"""
TWO_MORE = "for _ in range(2):\n    asked.acquire(timeout=60)"


def test_runs_of_older_threads_do_not_belong_to_the_cell(double):
    """A background client's runs appear in the cell that started it only."""
    begun = double.run(CLIENT)
    idle = double.run(TWO_MORE)
    asking = double.run(f"{TWO_MORE}\n{infer('double')}")
    double.run("enough.set(); client.join()")

    assert documents(begun)
    assert [] == idle.outputs
    assert 1 == len(documents(asking))


def test_a_run_of_another_thread_has_the_name_of_its_cell(double):
    """No frame of the cell is on that thread."""
    double.run(
        "import blsnb\n"
        "await blsnb.async_infer('double', {'X': [1.0]}, client_timeout_s=60)"
    )

    [run] = default.server().runs
    assert double.cell() == source_of(run).cell


def test_a_trace_of_nothing_shows_nothing(notebook, settings):
    """Nothing is recorded at level "off"."""
    settings.trace_level = "off"
    notebook.run(DOUBLE)

    assert [] == notebook.run(infer("double")).outputs


def record(name="1", start=1, ended=False):
    call = SimpleNamespace(parent=None, request_start_ns=start, request_end_ns=0)
    made = RunRecord(name)
    made.calls, made.ended = [call], ended
    return made


class Outputs:
    """The present outputs of a cell, in order."""

    def __init__(self):
        self.shown = []

    def display(self, shown, **_):
        number = len(self.shown)
        self.shown.append(shown)

        def update(shown, **_):
            self.shown[number] = shown

        return SimpleNamespace(update=update)


class FakeView:
    """A live view that records its calls."""

    made: list["FakeView"] = []

    def __init__(self, record, place):
        self.record, self.place = record, place
        self.calls = []
        FakeView.made.append(self)

    def tick(self):
        self.calls.append("tick")

    def refresh(self):
        self.calls.append("refresh")

    def finish(self):
        self.calls.append("finish")
        self.place.fill(self.record)

    def close(self):
        self.calls.append("close")


@pytest.fixture
def runs(monkeypatch):
    """A display in a running cell, with fake clock and views."""
    FakeView.made = []
    monkeypatch.setattr("blsnb.magics.runs.live_runs.LiveView", FakeView)
    monkeypatch.setattr(places, "trace_now", lambda run: run.id)
    outputs = Outputs()
    monkeypatch.setattr(places, "display", outputs.display)
    for make in ("bundle", "collapsed"):
        monkeypatch.setattr(places, make, lambda run_id, **_: run_id)
    clock = SimpleNamespace(now=0, monotonic_ns=lambda: clock.now)
    monkeypatch.setattr(show, "time", clock)
    monkeypatch.setattr(show.CLOCK, "now_ns", clock.monotonic_ns)
    display = RunDisplay(live=True)
    # Tests refresh explicitly, not its thread.
    monkeypatch.setattr(display._refresher, "wake", lambda: None)
    display.begin_cell()
    display.clock = clock
    display.outputs = outputs
    return display


def test_a_reserved_place_is_an_output_that_can_be_updated(shell):
    """It is empty, as a page shows it, until its run has ended."""
    with capture_output() as captured:
        CellPlaces(True).reserve(record())
    [output] = captured.outputs

    assert {"text/html": "", "text/plain": ""} == output.data
    assert output.transient["display_id"]


def test_a_short_run_gets_no_widget(runs):
    """A run of less than half a second gets none."""
    run = record()
    runs.clock.now = 500_000_000
    runs.observe(run, run.calls[0])

    assert [] == FakeView.made


def test_a_long_run_gets_a_widget_that_receives_events(runs):
    """It is made after half a second and finished when the run ends."""
    run = record()
    for runs.clock.now in (100, 600_000_000, 700_000_000):
        runs.observe(run, run.calls[0])
    runs.observe(run, None)

    assert [["tick", "finish"]] == [view.calls for view in FakeView.made]


def test_events_that_come_while_the_widget_is_made_make_no_second_one(
    runs, monkeypatch
):
    """Several threads may notice at once that a run is long."""
    run = record()

    class Slow(FakeView):
        def __init__(self, record, place):
            runs.observe(run, run.calls[0])
            super().__init__(record, place)

    monkeypatch.setattr("blsnb.magics.runs.live_runs.LiveView", Slow)
    for runs.clock.now in (100, 600_000_000):
        runs.observe(run, run.calls[0])

    assert 1 == len(FakeView.made)


def test_a_run_that_was_live_is_not_shown_again(runs):
    """Its document has replaced the widget."""
    run = record()
    runs.clock.now = 600_000_000
    runs.observe(run, run.calls[0])
    run.ended = True
    runs.observe(run, None)
    runs.end_cell()

    assert ["1"] == runs.outputs.shown


def test_the_last_event_of_a_run_makes_no_widget(runs):
    """The widget would be replaced at once."""
    run = record()
    runs.clock.now = run.calls[0].request_end_ns = 600_000_000
    runs.observe(run, run.calls[0])

    assert [] == FakeView.made


def test_a_call_that_outlives_its_run_makes_no_widget(runs):
    """A thread of the model may continue after the response."""
    run = record(ended=True)
    runs.clock.now = 600_000_000
    runs.observe(run, run.calls[0])

    assert [] == FakeView.made


def test_at_most_three_runs_are_live_at_once(runs):
    """Many concurrent requests do not make many widgets."""
    runs.clock.now = 600_000_000
    for number in range(5):
        run = record(str(number))
        runs.observe(run, run.calls[0])

    assert 3 == len(FakeView.made)


def test_a_long_run_without_events_is_shown(runs):
    """Responses are no events, and a model may compute for long."""
    run = record()
    runs.observe(run, run.calls[0])
    for runs.clock.now in (400_000_000, 600_000_000, 700_000_000):
        assert runs.refresh()

    assert ["refresh"] == FakeView.made[0].calls
    run.ended = True
    runs.observe(run, None)
    assert not runs.refresh()


def test_a_live_run_is_refreshed_after_its_cell_and_none_begins_there(runs):
    """A stream may continue in the background."""
    seen, unseen = record("1"), record("2", start=500_000_000)
    for run in (seen, unseen):
        runs.observe(run, run.calls[0])
    runs.clock.now = 600_000_000
    runs.refresh()
    runs._cell = None
    runs.clock.now = 9_000_000_000
    runs.refresh()

    assert [["refresh"]] == [view.calls for view in FakeView.made]


def test_a_live_run_that_outlives_its_cell_is_finished(runs):
    """A task may continue after its cell."""
    run = record()
    runs.clock.now = 600_000_000
    runs.observe(run, run.calls[0])
    runs._cell = None
    runs.observe(run, None)

    assert ["finish"] == FakeView.made[0].calls


def ending_elsewhere(runs, run, monkeypatch, told):
    """End a run on one thread and the cell on another one."""
    ending, go = threading.Event(), threading.Event()

    def finish(view):
        ending.set()
        go.wait(60)
        told.append("document")

    monkeypatch.setattr(FakeView, "finish", finish)
    ends = threading.Thread(target=runs.observe, args=(run, None))
    cell = threading.Thread(target=lambda: (runs.end_cell(), told.append("cell")))
    ends.start()
    ending.wait(60)
    run.ended = True
    cell.start()
    cell.join(0.4)
    go.set()
    for thread in (ends, cell):
        thread.join(60)


def test_a_cell_ends_when_the_document_of_its_run_is_there(runs, monkeypatch):
    """Programs that execute notebooks drop late outputs."""
    told = []
    run = record()
    runs.clock.now = 600_000_000
    runs.observe(run, run.calls[0])
    ending_elsewhere(runs, run, monkeypatch, told)

    assert ["document", "cell"] == told


def test_a_run_that_ends_while_its_widget_is_made_is_finished(runs, monkeypatch):
    """It is not shown twice: its document replaces the widget."""
    making, go = threading.Event(), threading.Event()

    class Slow(FakeView):
        def __init__(self, record, place):
            super().__init__(record, place)
            making.set()
            go.wait(60)

    monkeypatch.setattr("blsnb.magics.runs.live_runs.LiveView", Slow)
    run = record()
    runs.clock.now = 600_000_000
    makes = threading.Thread(target=runs.observe, args=(run, run.calls[0]))
    ends = threading.Thread(target=runs.observe, args=(run, None))
    makes.start()
    making.wait(60)
    run.ended = True
    ends.start()
    ends.join(0.2)
    go.set()
    for thread in (makes, ends):
        thread.join(60)
    runs.end_cell()

    assert [["finish"]] == [view.calls for view in FakeView.made]
    assert ["1"] == runs.outputs.shown


def test_a_run_that_has_ended_without_a_widget_gets_none():
    """Only one thread decides."""
    run = ActiveRun(record(), CellPlaces(True))

    assert run.finished_view() is None
    assert not run.claim()


def test_a_run_that_ends_a_moment_after_its_cell_is_shown(runs):
    """After the last response of a stream, execute may still have to return."""
    run = record()
    runs.observe(run, run.calls[0])
    cell = threading.Thread(target=runs.end_cell)
    cell.start()
    run.ended = True
    runs.observe(run, None)
    cell.join(60)

    assert ["1"] == runs.outputs.shown


def test_a_cell_does_not_wait_for_a_running_stream(runs, monkeypatch):
    """Neither do later cells."""
    run = record()
    runs.observe(run, run.calls[0])
    runs.end_cell()
    runs.begin_cell()
    monkeypatch.setattr(show, "_END_TIMEOUT_NS", 60_000_000_000)
    start = time.monotonic()
    runs.end_cell()

    assert time.monotonic() - start < 30


def test_widgets_of_ended_runs_are_kept_for_their_documents(runs):
    """The last eight serve queries; closing closes all."""
    for number in range(10):
        run = record(str(number))
        runs.clock.now = 600_000_000
        runs.observe(run, run.calls[0])
        runs.observe(run, None)
    closed = [view.calls[-1] == "close" for view in FakeView.made]
    assert [True, True] + [False] * 8 == closed

    runs.close()
    assert every(view.calls[-1] == "close" for view in FakeView.made)


def test_without_a_page_no_run_is_live(runs):
    """A terminal has no widgets."""
    terminal = RunDisplay(live=False)
    terminal.begin_cell()
    runs.clock.now = 600_000_000
    run = record()
    terminal.observe(run, run.calls[0])

    assert [] == FakeView.made


def test_outside_of_a_cell_nothing_is_collected():
    """Background work belongs to no cell."""
    runs = RunDisplay(live=True)
    run = record()
    runs.observe(run, run.calls[0])
    runs.observe(run, None)
    runs.end_cell()

    assert runs.has_place(SimpleNamespace(run_id="1", start_ns=1)) is False


def test_the_place_of_a_run_is_reserved_when_it_starts(runs):
    """It is empty until the run goes live or its cell ends."""
    run = record()
    runs.observe(run, run.calls[0])
    [empty] = runs.outputs.shown
    run.ended = True
    runs.observe(run, None)
    runs.end_cell()

    assert len(json.dumps(empty)) <= 200
    assert {""} == set(empty.values())
    assert ["1"] == runs.outputs.shown


def test_a_run_is_shown_when_it_ends_though_its_cell_goes_on(runs):
    """Without a wait for the end of the cell; once."""
    run = record()
    runs.observe(run, run.calls[0])
    runs.refresh()
    [empty] = runs.outputs.shown
    run.ended = True
    runs.observe(run, None)
    updates = []
    runs._cell._places[0]._handle.update = lambda shown, **_: updates.append(shown)
    runs.refresh()
    runs.end_cell()

    assert {""} == set(empty.values())
    assert ["1"] == updates


def test_a_run_in_an_output_widget_is_shown_there_when_it_ends(runs, monkeypatch):
    """Such an output cannot be updated: no place is reserved."""
    monkeypatch.setattr(places, "_is_captured", lambda: True)
    run = record()
    runs.observe(run, run.calls[0])
    reserved = list(runs.outputs.shown)
    run.ended = True
    runs.observe(run, None)
    runs.end_cell()

    assert [] == reserved
    assert ["1"] == runs.outputs.shown


def test_a_run_that_outlives_its_cell_fills_its_place_when_it_ends(runs):
    """A stream in the background is shown in the cell that started it."""
    run = record()
    runs.observe(run, run.calls[0])
    runs.end_cell()
    runs.begin_cell()
    run.ended = True
    runs.observe(run, None)

    assert ["1"] == runs.outputs.shown


def test_a_run_is_shown_again_when_its_last_execution_has_ended(runs, monkeypatch):
    """Ctrl-C ended the run before; then it is shown once more, in its place."""
    run = record()
    runs.observe(run, run.calls[0])
    run.ended, run.going_on = True, 1
    shown = []
    for document, going_on in [
        ("at Ctrl-C", 1),
        ("too soon", 1),
        ("again", 0),
        ("", 0),
    ]:
        monkeypatch.setattr(places, "trace_now", lambda _, document=document: document)
        run.going_on = going_on
        runs.observe(run, None)
        if not shown:
            runs.end_cell()
        shown += runs.outputs.shown

    assert ["at Ctrl-C", "at Ctrl-C", "again", "again"] == shown


def test_after_a_cleared_output_the_next_run_has_the_first_place(runs):
    """It contains the code; the cleared place is not filled."""
    cleared, kept = record("1"), record("2")
    runs.observe(cleared, cleared.calls[0])
    runs.clear()
    runs.observe(kept, kept.calls[0])
    for run in (cleared, kept):
        run.ended = True
        runs.observe(run, None)
    [place] = [runs._cell._places[0]]
    runs.end_cell()

    assert place.carries_code
    assert "2" == runs.outputs.shown[1]
    assert {""} == set(runs.outputs.shown[0].values())


def test_the_place_of_a_run_is_found_by_its_id_and_start():
    """Several servers may use the same ids."""
    cell = CellPlaces(False)
    place = cell.reserve(record("1", start=5))

    assert place is cell.of(SimpleNamespace(run_id="1", start_ns=5))
    assert cell.of(SimpleNamespace(run_id="1", start_ns=6)) is None


def test_one_call_is_not_shown(double):
    """A request with show=False is not displayed; others of the cell are."""
    ran = double.run(
        "import blsnb\n"
        "first = blsnb.infer('double', {'X': [1.0]}, show=False)\n"
        "second = list(blsnb.stream('double', {'X': [1.0]}, show=False))"
    )

    assert [] == ran.outputs
    assert 1 == len(documents(double.run(infer("double"))))


def test_calls_of_a_block_are_not_shown(double):
    """The setting of options.using(show=False) ends with the block."""
    ran = double.run(
        "import blsnb\n"
        "with blsnb.options.using(show=False):\n"
        "    first = blsnb.infer('double', {'X': [1.0]})\n"
        "second = blsnb.infer('double', {'X': [2.0]})"
    )

    assert 1 == len(documents(ran))


def test_a_displayed_run_outlives_others(double):
    """Many runs without display do not remove it from the list."""
    double.run(infer("double"))
    shown = double.shell.user_ns["run"]
    double.run(
        "with blsnb.options.using(show=False):\n"
        "    for _ in range(60):\n"
        "        last = blsnb.infer('double', {'X': [1.0]})"
    )

    kept = default.server().runs
    assert [shown, double.shell.user_ns["last"]] == [kept[0], kept[-1]]
    assert 50 == len(kept)


def test_a_displayed_run_is_noted(notebook, settings):
    """Runs that a notebook shows are kept longer, and answer its questions."""
    settings.show = False
    notebook.run(DOUBLE)
    notebook.run("import blsnb\nrun = blsnb.infer('double', {'X': [1.0]})")
    record = source_of(notebook.shell.user_ns["run"])
    before = record.is_displayed
    notebook.run("run")

    assert [False, True] == [before, record.is_displayed]
