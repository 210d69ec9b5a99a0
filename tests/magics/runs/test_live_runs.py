"""Specification of a live view's output: what a saved notebook has, and when."""

import threading
from types import SimpleNamespace

import pytest
from asserting import every
from ipywidgets.widgets.widget import _instances
from shortage import no_thread_starts
from views.samples import invoice_run, running_run
from waiting import PATIENCE_S

from blsnb.magics.runs import live_runs as live
from blsnb.views.documents import document
from blsnb.views.live.running_page import NOTE

SECOND_NS = 1_000_000_000
WIDGET = "application/vnd.jupyter.widget-view+json"


class Output:
    """The outputs of a cell, including former ones."""

    def __init__(self):
        self.shown = []

    carries_code = True
    takes_widgets = True

    def update(self, record, shown, **_):
        self.shown.append(shown)

    def fill(self, record, **how):
        self.update(record, document.mimebundle(live.trace_now(record), **how))

    @property
    def are_running(self):
        return [NOTE in each["text/plain"] for each in self.shown]


@pytest.fixture
def output():
    return Output()


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now_ns=0)
    clock.monotonic_ns = lambda: clock.now_ns
    monkeypatch.setattr(live, "time", clock)
    return clock


@pytest.fixture
def trace(monkeypatch):
    """The recorded trace, at the beginning and at the end."""
    monkeypatch.setattr(live, "trace_now", lambda traces: traces[-1])
    return [running_run()]


@pytest.fixture
def view(output, clock, trace):
    view = live.LiveView(trace, output)
    yield view
    view.close()


def looks(view, clock, *seconds):
    """Let it refresh at these times."""
    for second in seconds:
        clock.now_ns = round(second * SECOND_NS)
        view.refresh()


def test_the_document_of_a_run_so_far_is_updated_less_and_less_often(
    view, clock, output
):
    """Each document says that it is incomplete."""
    looks(view, clock, 0.5, 0.9)
    assert [True] == output.are_running
    looks(view, clock, 1, 2, 3, 4, 5, 6, 7)

    assert [True] * 4 == output.are_running
    assert every(
        {"text/html", "text/latex", "text/markdown", "text/plain"} == set(each)
        for each in output.shown
    )
    assert NOTE.replace("'", "&#x27;") in output.shown[-1]["text/html"]


def test_an_event_does_not_wait_for_a_document(view, clock, output):
    """The refresher makes documents."""
    clock.now_ns = 60 * SECOND_NS
    view.tick()

    assert [True] == output.are_running


def test_nothing_takes_the_place_of_the_finished_document(view, clock, trace, output):
    """A thread of the model may continue after the response."""
    trace.append(invoice_run())
    view.finish()
    looks(view, clock, 60, 120)

    assert [True, False] == output.are_running


def test_a_document_that_is_being_made_comes_before_the_finished_one(
    view, clock, trace, output, monkeypatch
):
    """Another thread makes it; the finished document remains."""
    making, go = threading.Event(), threading.Event()
    update = output.update

    def slowly(record, shown, **_):
        if not making.is_set():
            making.set()
            go.wait(60)
        update(record, shown)

    output.update = slowly
    keeps = threading.Thread(target=looks, args=(view, clock, 2))
    keeps.start()
    making.wait(60)
    ends = threading.Thread(target=view.finish)
    trace.append(invoice_run())
    ends.start()
    ends.join(0.2)
    go.set()
    for thread in (keeps, ends):
        thread.join(60)

    assert [True, True, False] == output.are_running


def test_a_program_that_executes_notebooks_gets_documents_and_no_widget(
    output, clock, trace
):
    """It would keep the widget's code in the notebook."""
    output.takes_widgets = False
    before = set(_instances)
    view = live.LiveView(trace, output)
    looks(view, clock, 1)
    trace.append(invoice_run())
    view.finish()
    view.close()

    assert before == set(_instances)
    assert [True, True, False] == output.are_running


def test_vscode_displays_the_widget_itself(output, clock, trace, monkeypatch):
    """VS Code makes no model of a widget without a view."""
    monkeypatch.setenv("VSCODE_PID", "1")
    view = live.LiveView(trace, output)
    looks(view, clock, 1, 2, 3)
    [shown] = output.shown

    assert WIDGET in shown._repr_mimebundle_()[0]
    view.close()


class Active:
    """Runs that are active until `has_active` is set to False."""

    def __init__(self):
        self.refreshes = threading.Semaphore(0)
        self.has_active = True
        self.refresher = live.Refresher(self._refresh)

    def _refresh(self):
        self.refreshes.release()
        return self.has_active


@pytest.fixture
def active(monkeypatch):
    monkeypatch.setattr(live, "_REFRESH_PAUSE_S", 0.001)
    active = Active()
    yield active
    active.refresher.close()


def threads():
    """The threads that refresh views."""
    return [each for each in threading.enumerate() if each.name == "blsnb live view"]


def test_repeated_wakes_start_one_refresher_thread(active):
    """Each run that begins wakes the refresher."""
    for _ in range(3):
        active.refresher.wake()
        assert active.refreshes.acquire(timeout=PATIENCE_S)

    assert 1 == len(threads())


def test_the_refresher_thread_ends_with_the_last_run_and_can_start_again(active):
    """No thread exists while no run is active."""
    for _ in range(2):
        active.has_active = True
        active.refresher.wake()
        assert active.refreshes.acquire(timeout=PATIENCE_S)
        [thread] = threads()
        active.has_active = False
        thread.join(PATIENCE_S)

        assert [] == threads()


def test_a_refresh_that_fails_ends_the_refresher_thread(active, caplog):
    """The failure is logged and does not affect the runs."""
    active.refresher._refresh = None
    active.refresher.wake()
    for thread in threads():
        thread.join(PATIENCE_S)

    assert [] == threads()
    assert "the views of running requests could not be refreshed" in caplog.text


def test_without_a_free_thread_the_log_says_what_is_not_shown(active, caplog):
    """The next run that begins starts the refresher."""
    with no_thread_starts():
        active.refresher.wake()
    text = (
        "running requests are not shown: no thread can be started (can't start new "
        "thread): this process, its user or its container has reached a limit of "
        "threads or of memory"
    )

    assert ([], [text]) == (threads(), caplog.messages)
    active.refresher.wake()
    assert active.refreshes.acquire(timeout=PATIENCE_S)


def test_closing_the_refresher_ends_its_thread(active):
    """Closing twice is safe."""
    active.refresher.wake()
    active.refresher.close()
    active.refresher.close()

    assert [] == threads()
