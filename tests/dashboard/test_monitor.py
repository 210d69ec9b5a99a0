"""When a monitor polls its server, and when polling ends."""

import threading

import pytest
import stage
from cells import CONFIG, DOUBLE, cell

from blsnb import InferenceError
from blsnb.dashboard.monitor import UNWATCHED_NS, Monitor
from blsnb.engine.readings import Reading, VersionReading
from blsnb.errors import ServerClosedError
from blsnb.parts.server_parts import parts_of

X = {"X": [1.0, 2.0]}
HELD = cell(
    """
    stage.sleep()
    return [reply(x_of(request))]
    """
)
FAILING = cell('raise pb_utils.TritonModelException("no")')


class Clock:
    """Stands still until it is put."""

    now_ns = 0

    def __call__(self):
        return self.now_ns


class Looked:
    """A server that counts how often it is read, and notes that it was left."""

    def __init__(self):
        self.clock = Clock()
        self.read = threading.Semaphore(0)
        self.left = 0
        self.requests = 0
        self.monitor = Monitor(self._reading, self._leave, self.clock)

    def _reading(self):
        self.read.release()
        version = VersionReading("m", 1, "READY", succeeded=self.requests)
        return Reading(self.clock(), 0, (version,))

    def _leave(self):
        self.left += 1


def looking():
    """Whether a thread of a monitor is there."""
    return "blsnb monitor" in [thread.name for thread in threading.enumerate()]


@pytest.fixture
def looked():
    looked = Looked()
    yield looked
    looked.monitor.close()


def test_a_monitor_shows_models_requests_and_errors(server):
    """Its text has the same numbers."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("failing", FAILING, config=CONFIG)
    monitor = server.monitor()
    monitor.overview()
    server.infer("double", X)
    with pytest.raises(InferenceError):
        server.infer("failing", X)
    double, failing = monitor.overview().rows

    assert ("double", 1, "READY", 1, 0) == (
        double.name,
        double.version,
        double.state,
        double.requests,
        double.failed,
    )
    assert (1, 1) == (failing.failed, failing.failed_lately)
    assert 0 < double.p50_us <= double.p95_us <= double.p99_us
    assert 1 == double.batch
    assert 0 < double.queued_us < double.p99_us
    assert not failing.p50_us > 0
    assert "double" in str(monitor)


def test_requests_in_flight_are_shown(server):
    """One is executed, one waits in the queue."""
    server.define("held", HELD, config=CONFIG)
    clients = [
        threading.Thread(target=server.infer, args=("held", X)) for _ in range(2)
    ]
    clients[0].start()
    assert stage.events["asleep"].wait(60)
    clients[1].start()
    monitor = server.monitor()
    while (overview := monitor.overview()).waiting < 1:
        pass
    [row] = overview.rows
    stage.clear()
    for client in clients:
        client.join()

    assert (2, 1, 1, 1) == (overview.in_flight, row.busy, row.instances, row.waiting)
    assert (0, 0) == (monitor.overview().in_flight, monitor.overview().rows[0].busy)


def test_models_that_do_not_serve_are_shown_with_their_reason(server):
    """Those that were unloaded, too."""
    server.define("double", DOUBLE, config=CONFIG)
    server.unload("double")
    [row] = server.monitor().overview().rows

    assert ("UNAVAILABLE", "unloaded") == (row.state, row.reason)


def test_single_requests_are_recorded_only_while_the_monitor_polls(server):
    """It costs each request time."""
    server.define("double", DOUBLE, config=CONFIG)
    statistics = parts_of(server).engine.catalog.find("double").statistics
    server.infer("double", X)
    assert statistics._latest is None
    monitor = server.monitor()
    monitor.overview()
    server.infer("double", X)
    assert 1 == len(statistics._latest)
    monitor.close()

    assert statistics._latest is None


def test_one_thread_polls_once_the_monitor_is_displayed(looked):
    """Displaying it again starts no other thread."""
    assert not looking()
    assert looked.monitor.widget() is looked.monitor.widget()
    assert looked.monitor.is_polling
    names = [thread.name for thread in threading.enumerate()]

    assert 1 == names.count("blsnb monitor")
    for _ in range(3):
        assert looked.read.acquire(timeout=60)


def test_closing_it_ends_the_thread_and_leaves_the_last_state(looked):
    """Closing twice is safe."""
    told = []
    looked.monitor.widget()
    looked.monitor.on_close(told.append)
    looked.monitor.close()
    looked.monitor.close()

    assert not looking()
    assert 1 == looked.left
    assert [True] == [overview.ended for overview in told]
    assert looked.monitor.overview() is told[0]
    assert f"<Monitor, closed: {told[0].caption}>" == repr(looked.monitor)
    assert {"text/html", "text/plain"} == set(looked.monitor._repr_mimebundle_())
    with pytest.raises(
        RuntimeError, match=r"is closed; make one: server\.monitor\(\)$"
    ):
        looked.monitor.widget()


def test_a_notebook_receives_each_change_once(looked):
    """A saved notebook is nearly as new as the page."""
    told = []
    looked.monitor.on_change(lambda: told.append(looked.clock.now_ns))
    for second in (1, 2, 3, 10, 11, 12, 13, 14):
        looked.clock.now_ns = second * 10**9
        looked.requests = max(0, second - 9)
        looked.monitor.poll()

    # Rates are known from the second look on.
    assert [1, 2, 10, 11, 13] == [now_ns // 10**9 for now_ns in told]


def test_a_failure_at_the_end_does_not_keep_it_open(looked, caplog):
    """The server continues to close."""
    told = []
    looked.monitor.widget()
    looked.monitor.on_close(lambda last: 1 / 0)
    looked.monitor.on_close(told.append)
    looked.monitor._read = None
    looked.monitor.close()

    assert 1 == len(told)
    assert not looking()
    assert "the monitor could not read the server" in caplog.text
    assert "the end of a monitor could not be displayed\nTraceback" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_closing_the_widget_closes_it(looked):
    """Its owner in a notebook does this."""
    looked.monitor.widget().close()

    assert looked.monitor.closed
    assert not looking()


def test_polling_pauses_without_a_viewer_and_resumes_with_one(looked):
    """A page that returns after a long time is live again."""
    monitor = looked.monitor
    view = monitor.widget()
    looked.clock.now_ns = UNWATCHED_NS - 1
    monitor.poll()
    assert monitor.is_polling
    looked.clock.now_ns = UNWATCHED_NS
    monitor.poll()
    assert not monitor.is_polling
    assert repr(monitor).startswith("<Monitor, paused: ")
    assert 1 == looked.left
    view._handle_custom_msg({"type": "watching"}, [])

    assert monitor.is_polling
    monitor.poll()
    assert monitor.is_polling


def test_a_failed_poll_ends_nothing(looked, caplog):
    """It is logged, and the next one may succeed."""
    monitor = looked.monitor
    view = monitor.widget()
    before = view.overview["looks"]
    read, monitor._read = monitor._read, None
    monitor.poll()
    monitor._read = read
    monitor.poll()

    assert "the monitor could not read the server" in caplog.text
    assert view.overview["looks"] > before


def test_closing_the_server_closes_its_monitor(server):
    """It is the same object until then; afterwards it cannot be made."""
    monitor = server.monitor()
    monitor.widget()
    assert server.monitor() is monitor
    server.close()

    assert monitor.closed
    assert not looking()
    with pytest.raises(ServerClosedError):
        server.monitor()


def test_a_closed_monitor_is_followed_by_a_new_one(server):
    """One that was closed stays so."""
    first = server.monitor()
    first.close()

    assert server.monitor() is not first
