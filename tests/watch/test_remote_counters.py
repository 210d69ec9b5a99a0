"""The answers of a server, and the readings made of them."""

from __future__ import annotations

from typing import Any

import pytest

from blsnb.engine.readings import VersionReading
from blsnb.errors import TritonServerError
from blsnb.watch.remote_readings import RemoteReadings

STATS = {
    "model_stats": [
        {
            "name": "m",
            "version": "2",
            "inference_count": 9,
            "execution_count": 4,
            "inference_stats": {
                "success": {"count": 5, "ns": 50},
                "fail": {"count": 1, "ns": 10},
                "queue": {"count": 6, "ns": 700},
            },
        },
        {"name": "m", "version": "1"},
        {"name": "m"},
    ]
}
INDEX = [
    {"name": "m", "version": "2", "state": "READY"},
    {"name": "broken", "version": "3", "state": "LOADING"},
    {"name": "broken", "state": "UNAVAILABLE", "reason": "no file"},
    {"name": "never loaded"},
]
METRICS = """\
nv_inference_pending_request_count{model="m",version="2"} 3
nv_inference_pending_request_count{model="a\\"b",version="-1"} 1.000000
nv_inference_pending_request_count{model="m",version="2"} three
# nv_inference_pending_request_count{model="m",version="1"} 7
"""


class Answers:
    """A server whose answers are known."""

    name = "the server at http://a:1"

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def read(self, path: str, changes: Any = None, timeout_s: float = 0) -> Any:
        """Return the statistics, or the index, which is requested with a body."""
        paths = {
            ("/v2/models/stats", None): "stats",
            ("/v2/repository/index", "{}"): "index",
        }
        body = None if changes is None else str(changes)
        return self._answer(paths[path, body])

    def read_text(self, path: str, timeout_s: float = 0) -> Any:
        """Return the page of metrics."""
        return self._answer({"/metrics": "metrics"}[path])

    def _answer(self, name: str) -> Any:
        if name not in self.answers:
            raise TritonServerError(f"{self.name} does not respond")
        return self.answers[name]


@pytest.fixture
def readings(monkeypatch) -> Any:
    """Return a function that makes readings of known answers."""

    def of(**answers: Any) -> RemoteReadings:
        found = RemoteReadings("127.0.0.1:1")
        for each in ("_http", "_metrics"):
            monkeypatch.setattr(found, each, Answers(**answers))
        return found

    return of


def test_a_reading_has_every_counter_of_the_server(readings):
    """Models are sorted; those that were never loaded are left out."""
    found = readings(stats=STATS, index=INDEX, metrics=METRICS).read()

    assert (
        VersionReading("broken", -1, "UNAVAILABLE", "no file"),
        VersionReading("broken", 3, "LOADING"),
        VersionReading("m", -1, "READY"),
        VersionReading("m", 1, "READY"),
        VersionReading(
            "m",
            2,
            "READY",
            waiting=3,
            succeeded=5,
            failed=1,
            inferences=9,
            executions=4,
            queued_ns=700,
        ),
    ) == found.versions
    assert 4 == found.in_flight


@pytest.mark.parametrize("answer", [None, [], {}, {"model_stats": None}])
def test_answers_of_another_form_have_no_models(readings, answer):
    """Without metrics no request waits."""
    found = readings(stats=answer, index=answer).read()

    assert ((), 0) == (found.versions, found.in_flight)


def test_a_lost_server_keeps_its_counters(readings):
    """Their state and reason say that it does not respond."""
    found = readings(stats=STATS, index=[], metrics=METRICS)
    before = found.read()
    found._http.answers = {}
    after = found.read()

    lost = {
        "state": "UNREACHABLE",
        "reason": "the server at http://a:1 does not respond",
    }
    assert tuple(each._replace(**lost) for each in before.versions) == after.versions
    assert 0 == after.in_flight
    assert "the server at http://a:1" == found.name


def test_a_server_that_never_responded_is_an_error(readings):
    """There are no counters to keep."""
    with pytest.raises(TritonServerError, match="does not respond"):
        readings().read()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("a:1",), "the server at http://a:8002"),
        (("http://[::1]:1",), "the server at http://[::1]:8002"),
        (("a:1", "https://u:secret@b:3"), "the server at https://b:3"),
    ],
)
def test_metrics_are_on_their_usual_port_of_the_same_host(arguments, name):
    """Another address may be given; no name has a password."""
    assert name == RemoteReadings(*arguments)._metrics.name
