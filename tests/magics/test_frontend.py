"""Specification of the displayed runs that a kernel connects to its pages."""

import gc
import signal
from types import SimpleNamespace

import pytest
from views.samples import invoice_run, recorded
from waiting import until

import blsnb
from blsnb.magics import frontend
from blsnb.magics.frontend import DisplayedRuns, ProgressBar, has_page
from blsnb.parts.server_parts import parts_of
from blsnb.results.run import replayer_in
from blsnb.results.traced import take_trace
from blsnb.trace.recorder import Recorder
from blsnb.views.documents import wire
from blsnb.views.live import connection as widget
from blsnb.views.live.queries import QueryError


def shell(**metadata):
    return SimpleNamespace(
        kernel=SimpleNamespace(get_parent=lambda: {"metadata": metadata})
    )


PAGE = shell(cellId="1")


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
def runs(sent):
    """The displayed runs of one kernel."""
    runs = DisplayedRuns(PAGE, lambda: None)
    yield runs
    runs.close()


def test_only_a_page_gets_a_connection():
    """Programs that execute notebooks would store the widget's state."""
    assert has_page(PAGE)
    assert not has_page(shell())
    assert not has_page(SimpleNamespace())


def test_vscode_gets_no_connection(monkeypatch):
    """Its pages only have models of displayed widgets."""
    monkeypatch.setenv("VSCODE_PID", "1")

    assert not has_page(PAGE)


def test_without_a_page_nothing_is_opened():
    """Terminals and programs that execute notebooks get no connection."""
    runs = DisplayedRuns(shell(), lambda: None)
    runs.add(invoice_run())
    runs.close()

    told = r"^this kernel does not have the run: run the cell again$"
    with pytest.raises(QueryError, match=told):
        runs.find(wire.page_id(invoice_run()))


def test_a_displayed_run_is_found_as_long_as_it_is_kept(runs):
    """A display keeps no run alive; the error names the limit that dropped it."""
    record = recorded(Recorder(), 3)
    runs.add(record)
    run = wire.page_id(take_trace(record))
    assert runs.find(run) is take_trace(record)
    del record
    gc.collect()

    with pytest.raises(
        QueryError,
        match=r"no longer kept: keep_runs limits the runs that are "
        r"kept, newest first\. run\.keep\(\) pins a run, and a "
        r"run in a variable is kept as well; run the cell again$",
    ) as refused:
        runs.find(run)
    assert "dropped" == refused.value.answer["code"]


def test_all_runs_share_one_connection_that_answers_on_a_thread(runs, sent):
    """Queries do not delay a cell."""
    trace = invoice_run()
    record = recorded(Recorder(), 3)
    runs.add(trace)
    only = runs._connection
    runs.add(record)
    assert runs._connection is only
    for number, run in enumerate([trace, take_trace(record)]):
        query = {"v": 1, "type": "tensors", "id": number, "call": 0}
        only._handle_custom_msg(query | {"run": wire.page_id(run)}, [])

    until(lambda: len(sent) == 2)
    assert [0, 1] == [each["id"] for each in sent if "error" not in each]


def test_a_bar_shows_a_share_and_becomes_a_line_at_its_end(monkeypatch):
    """A share of 0 may be unknown; names are escaped in the page."""
    shown = []
    monkeypatch.setattr(ProgressBar, "_show", lambda _, *texts: shown.append(texts))
    bar = ProgressBar("<b>")
    bar(0.256, "1 of 4")
    bar.end()

    begun = "&lt;b&gt;: not begun"
    after = "&lt;b&gt;: 1 of 4"
    assert [
        (
            f'<progress max="1" aria-label="{begun}"></progress> {begun}',
            "<b>: not begun",
        ),
        (
            f'<progress value="0.256" max="1" aria-label="{after}"></progress> '
            f"26% · {after}",
            "26% <b>: 1 of 4",
        ),
        (f"<small>{after}</small>", "<b>: 1 of 4"),
    ] == shown


def test_a_hello_is_answered_with_the_lifetime_of_the_kernel(runs, sent):
    """A page can tell whether its kernel was restarted."""
    runs.add(invoice_run())
    runs._connection._handle_custom_msg({"v": 1, "type": "hello", "runs": {}}, [])

    (welcome,) = sent
    assert {"v", "type", "blsnb", "kernel"} == set(welcome)
    assert "welcome" == welcome["type"]


def test_a_failure_to_connect_leaves_the_document(monkeypatch, caplog):
    """The document has embedded previews."""
    monkeypatch.setattr(frontend, "_runs", SimpleNamespace(add=None))
    frontend.note(invoice_run())

    assert "could not be connected" in caplog.text


class Replaying:
    """Executes calls again."""


@pytest.mark.parametrize("known", [True, False], ids=["its server", "the default one"])
def test_a_run_is_executed_again_by_its_server(runs, known, monkeypatch):
    """A run that names no server has that of the kernel, if there is one."""
    record = recorded(Recorder(), 3)
    replayer = Replaying() if known else None
    runs.add(record, replayer=replayer)
    monkeypatch.setattr(frontend.default, "started", lambda: None)

    found = runs._run(wire.page_id(take_trace(record)))

    assert replayer is replayer_in(found)
    if not known:
        with blsnb.Server() as server:
            monkeypatch.setattr(frontend.default, "started", lambda: server)
            found = runs._run(wire.page_id(take_trace(record)))
            assert parts_of(server).requests is replayer_in(found)


@pytest.mark.parametrize("name", ["on_main_thread", "call_interruptibly"])
def test_without_the_extension_a_call_is_made_at_once(monkeypatch, name):
    """There is no kernel whose thread could call it later."""
    monkeypatch.setattr(frontend, "_runs", None)
    calls = []
    getattr(frontend, name)(lambda: calls.append(name))

    assert [name] == calls


def test_a_run_that_is_displayed_after_an_unload_opens_nothing(monkeypatch):
    """A page that debugs a call receives that this kernel does not have its run."""
    opened = []
    monkeypatch.setattr(widget, "Connection", lambda *given: opened.append(given))
    monkeypatch.setattr(frontend, "watch_cells", lambda shell, main: lambda: None)
    frontend.connect(PAGE, lambda: None)()
    frontend.note(invoice_run(), in_page=True)

    assert [] == opened
    with pytest.raises(QueryError, match="kernel"):
        frontend.debug("any", 1)


@pytest.mark.parametrize("name", ["on_main_thread", "call_interruptibly"])
def test_a_call_waits_for_the_loop_of_the_kernel(monkeypatch, name):
    """It is called between two cells."""
    waiting, calls = [], []
    loop = SimpleNamespace(add_callback=waiting.append)
    kernel = SimpleNamespace(io_loop=loop)
    monkeypatch.setattr(
        frontend, "_runs", DisplayedRuns(SimpleNamespace(kernel=kernel), lambda: None)
    )
    getattr(frontend, name)(lambda: calls.append(name))
    assert [] == calls

    waiting.pop()()
    assert [name] == calls


def test_an_interrupt_ends_a_call_and_not_the_loop(monkeypatch):
    """Between cells the kernel ignores the signal; during the call it does not."""
    waiting, handlers = [], []
    loop = SimpleNamespace(add_callback=waiting.append)
    kernel = SimpleNamespace(io_loop=loop)
    monkeypatch.setattr(
        frontend, "_runs", DisplayedRuns(SimpleNamespace(kernel=kernel), lambda: None)
    )

    def call():
        handlers.append(signal.getsignal(signal.SIGINT))
        raise KeyboardInterrupt

    frontend.call_interruptibly(call)
    waiting.pop()()

    assert [signal.default_int_handler] == handlers
