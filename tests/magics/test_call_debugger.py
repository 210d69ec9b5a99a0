"""Specification of the action that executes a recorded call again in the debugger."""

import contextlib
import gc
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, TRIPLE, cell

from blsnb.debugger import replays
from blsnb.debugger.main_thread import MainThread, watch_cells
from blsnb.debugger.page_action import debug_call
from blsnb.magics.frontend import DisplayedRuns
from blsnb.results.run import replayer_in, source_of
from blsnb.views.documents import wire
from blsnb.views.live import connection as widget
from blsnb.views.live.queries import QueryError

X = {"X": np.array([1, 2], np.float32)}
BUSY = "a cell was running: wait for its end or interrupt it, then try again"


class Loop:
    """The loop of the main thread, which the test runs."""

    def __init__(self):
        self._calls = []

    def add_callback(self, call):
        self._calls.append(call)

    def run(self):
        while self._calls:
            self._calls.pop(0)()


class Events:
    """The events of a shell."""

    def __init__(self):
        self.notified = {}

    def register(self, event, note):
        self.notified[event] = note

    def unregister(self, event, note):
        assert note == self.notified.pop(event)


@pytest.fixture
def loop():
    return Loop()


@pytest.fixture
def shell(loop):
    """The shell of a kernel whose cell a page runs."""
    parent = {"metadata": {"cellId": "1"}}
    kernel = SimpleNamespace(get_parent=lambda: parent, io_loop=loop)
    return SimpleNamespace(kernel=kernel, events=Events())


@pytest.fixture
def attached(monkeypatch):
    """A debugger that stops nowhere."""
    monkeypatch.setattr(replays, "stopping", lambda _: contextlib.nullcontext())


@pytest.fixture
def sent(monkeypatch):
    """Messages to the page."""
    kept = []
    monkeypatch.setattr(
        widget.Connection,
        "send",
        lambda self, content, buffers=None: kept.append(content),
    )
    return kept


@pytest.fixture
def runs(shell, sent):
    """The displayed runs of one kernel."""
    runs = DisplayedRuns(shell, lambda: None)
    yield runs
    runs.close()


@pytest.fixture
def run(server, runs):
    """A displayed run of one call."""
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", X)
    runs.add(source_of(run), replayer=replayer_in(run))
    return run


def click(runs, shown, **rest):
    """Send the action of the button."""
    action = {"v": 1, "type": "action", "id": "a", "name": "debug", "slot": "s"}
    about = {"run": wire.page_id(shown.trace), "call": 0}
    runs._connection._handle_custom_msg({**action, **about, **rest}, [])


def refusal(answer):
    return answer["error"]["code"], answer["error"]["text"]


def test_a_call_runs_on_the_main_threads_loop(runs, run, loop, sent, attached):
    """A message may arrive on the thread of a subshell."""
    arriving = threading.Thread(target=click, args=(runs, run))
    arriving.start()
    arriving.join()
    assert [] == sent
    loop.run()

    (answer,) = sent
    assert "Call 0 has run again: its outputs are as recorded." == answer["done"]


def test_the_answer_says_what_differs(runs, run, server, loop, sent, attached):
    """The call runs on the model as it is now."""
    server.define("double", TRIPLE, config=CONFIG)
    click(runs, run)
    loop.run()
    server.define("double", cell("raise ValueError('boom')"), config=CONFIG)
    click(runs, run)
    loop.run()

    changed, failed = (each["done"] for each in sent)
    assert changed.startswith("Call 0 has run again: output Y: ")
    assert "boom" in failed
    assert "before: none" in failed


def test_without_a_debugger_the_call_is_refused(runs, run, loop, sent):
    """The text is that of the error."""
    click(runs, run)
    loop.run()

    code, text = refusal(sent[0])
    assert "refused" == code
    assert "switch on the notebook's" in text


def test_while_a_cell_runs_the_call_is_refused_at_once(runs, run, loop, sent):
    """Also if the cell begins, and awaits something, before the loop is free."""
    runs.main.begin_cell()
    click(runs, run)
    assert ("busy", BUSY) == refusal(sent[0])

    runs.main.end_cell()
    click(runs, run)
    runs.main.begin_cell()
    loop.run()
    assert "busy" == refusal(sent[1])[0]


def test_during_a_call_another_one_is_refused(runs, run, loop, sent, monkeypatch):
    """One call at a time is in the debugger."""

    @contextlib.contextmanager
    def stopped(_):
        click(runs, run, id="b", slot="t")
        assert "busy" == refusal(sent[0])[0]
        yield

    monkeypatch.setattr(replays, "stopping", stopped)
    click(runs, run)
    loop.run()

    assert ["b", "a"] == [each["id"] for each in sent]
    assert "done" in sent[1]


def test_an_interrupt_ends_the_call(runs, run, loop, sent, monkeypatch):
    """Between cells ipykernel ignores the signal; afterwards it does so again."""

    @contextlib.contextmanager
    def interrupted(_):
        signal.raise_signal(signal.SIGINT)
        yield

    monkeypatch.setattr(replays, "stopping", interrupted)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        click(runs, run)
        loop.run()
        assert signal.SIG_IGN == signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert ("refused", "the call was interrupted") == refusal(sent[0])
    assert not runs.main._running


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        ({"run": "00a3-77"}, "gone"),
        ({"run": 7}, "invalid"),
        ({"call": 9}, "invalid"),
        ({"call": "0"}, "invalid"),
        ({"name": "stop"}, "unsupported"),
        ({"v": 2}, "version"),
    ],
)
def test_a_malformed_action_executes_nothing(runs, run, loop, sent, rest, code):
    """Its keys are checked and never evaluated."""
    click(runs, run, **rest)
    loop.run()

    assert code == refusal(sent[0])[0]


def test_a_dropped_run_is_refused_with_the_limit(runs, server, loop, sent):
    """The display keeps no run alive."""
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", X)
    kept = SimpleNamespace(trace=run.trace)
    runs.add(source_of(run), replayer=replayer_in(run))
    server._parts.recorder.remove(source_of(run))
    del run
    gc.collect()
    click(runs, kept)
    loop.run()

    code, text = refusal(sent[0])
    assert "dropped" == code
    assert "keep_runs" in text


def test_a_kernel_without_a_loop_is_refused_with_what_helps(run):
    """Other kernels than ipykernel have another main thread."""
    with pytest.raises(QueryError, match=r"run\.replay\(call, debug=True\) in a cell"):
        debug_call(MainThread(None), lambda: run, 0)


def test_cells_of_subshells_leave_the_main_thread_free(shell):
    """They are executed on threads of their own."""
    main = MainThread(shell.kernel)
    ignore = watch_cells(shell, main)
    beside = threading.Thread(target=shell.events.notified["pre_run_cell"])
    beside.start()
    beside.join()
    assert main.is_free
    shell.events.notified["post_run_cell"]()
    shell.events.notified["pre_run_cell"]()
    assert not main.is_free
    ignore()

    assert {} == shell.events.notified
