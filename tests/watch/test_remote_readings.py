"""The counters of a real server, for the monitor."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from blsnb.errors import TritonServerError
from blsnb.magics.commands.monitor import Monitors
from blsnb.magics.line import Line
from blsnb.watch.remote_readings import UNREACHABLE, RemoteReadings
from blsnb.watch.server_http import ServerHttp

pytestmark = [
    pytest.mark.triton_server,
    pytest.mark.timeout(180),  # A busy machine starts the real server slowly.
]


@pytest.fixture
def readings(real):
    """Readings of the real server."""
    return RemoteReadings(real.url, f"127.0.0.1:{real.server.metrics_port}")


def of(readings, name):
    return next(each for each in readings.read().versions if each.name == name)


def test_requests_are_counted(real, readings):
    """Successes, failures, inferences and time in the queue grow."""
    before, failed = of(readings, "double"), of(readings, "bad").failed
    assert ("READY", 1) == (before.state, before.version)
    assert 200 == real.infer("double", "")
    assert 500 == real.infer("bad", "")

    after = of(readings, "double")
    assert (1, 1, 1) == (
        after.succeeded - before.succeeded,
        after.inferences - before.inferences,
        after.executions - before.executions,
    )
    assert after.queued_ns > before.queued_ns
    assert 1 == of(readings, "bad").failed - failed


def test_the_table_is_that_of_any_server(real, capsys):
    """What a real server does not report is a dash."""
    monitors = Monitors()
    words = f"--url {real.url} --metrics 127.0.0.1:{real.server.metrics_port}"
    monitors.run(Line(words, {}, False))
    monitors.close()
    _, head, *rows = capsys.readouterr().out.splitlines()
    assert "model" == head.split()[0]
    assert ["bad", "double", "pipeline", "untraced"] == [r.split()[0] for r in rows]
    assert ["1", "READY", "-", "0", "-"] == rows[0].split()[1:6]


def test_without_metrics_no_request_waits(real):
    """The rest is read all the same."""
    readings = RemoteReadings(real.url, "127.0.0.1:1")
    assert {0} == {each.waiting for each in readings.read().versions}


def test_pending_requests_are_those_of_the_metrics(readings, monkeypatch):
    """Names are escaped as Prometheus requires."""
    page = 'nv_inference_pending_request_count{model="double",version="1"} 3\n'
    monkeypatch.setattr(readings._metrics, "read_text", lambda *_, **__: page)
    assert 3 == of(readings, "double").waiting
    assert 3 == readings.read().in_flight


def test_a_server_that_is_gone_keeps_its_rows(real, readings, monkeypatch):
    """They say that it does not respond."""
    assert {"READY"} == {each.state for each in readings.read().versions}
    monkeypatch.setattr(readings, "_http", ServerHttp("127.0.0.1:1"))
    lost = readings.read().versions
    assert {UNREACHABLE} == {each.state for each in lost}
    assert "does not respond" in lost[0].reason


def test_a_server_that_never_responded_is_an_error():
    """Of the magic, too: in one line."""
    with pytest.raises(TritonServerError, match="does not respond"):
        RemoteReadings("127.0.0.1:1").read()
    with pytest.raises(UsageError, match="does not respond"):
        Monitors().run(Line("--url 127.0.0.1:1", {}, False))
    with pytest.raises(UsageError, match="is not valid; expected the address"):
        Monitors().run(Line("--url ftp://x", {}, False))
