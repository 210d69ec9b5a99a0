"""Where a plan is for: this kernel, a real server, a recording, a running server."""

from __future__ import annotations

import re

import pytest
from cells import CONFIG, DOUBLE

from blsnb.recorder.recording import Recording

NONE = Recording([])
SHARES = "is not valid; expected shares from 0 to 1, with a recording"
KERNEL = "this kernel with its one interpreter lock"


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"target": 5}, TypeError, "target=5 is not valid; expected a string"),
        (
            {"target": "there"},
            ValueError,
            "target='there' is not valid; expected 'here' or 'triton'",
        ),
        (
            {"recording": 5},
            TypeError,
            "recording=5 is not valid; expected what blsnb.load_recording(folder) "
            "returns",
        ),
        ({"computing": 5}, TypeError, "computing=5 is not valid; expected a dict"),
        (
            {"computing": {"m": "1"}},
            TypeError,
            "computing['m']='1' is not valid; expected a share from 0 to 1",
        ),
        ({"computing": {"m": 1}}, ValueError, f"computing={{'m': 1}} {SHARES}"),
        (
            {"computing": {"m": 1.1}, "recording": NONE},
            ValueError,
            f"computing={{'m': 1.1}} {SHARES}",
        ),
        (
            {"computing": {"m": -0.1}, "recording": NONE},
            ValueError,
            f"computing={{'m': -0.1}} {SHARES}",
        ),
        (
            {"computing": {"m": 0, "n": 1}, "recording": NONE, "target": "here"},
            ValueError,
            f"target='here' ({KERNEL}) is not valid for a recording; expected 'triton' "
            "(a process for each instance)",
        ),
        (
            {"recording": NONE, "server_url": "grpc://localhost:1"},
            ValueError,
            "recording and server_url exclude each other: pass one",
        ),
        ({"server_url": 5}, TypeError, "server_url=5 is not valid; expected a string"),
        (
            {"server_url": "grpc://"},
            ValueError,
            "server_url='grpc://' is not valid; expected an address such as "
            "'grpc://localhost:8001'",
        ),
    ],
)
def test_another_world_is_refused(server, given, error, text):
    """Nothing has run then."""
    server.define("m", DOUBLE, config=CONFIG)
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        server.plan("m", {"X": [1, 2]}, rate=10, p99_ms=50, **given)
    assert [] == server.runs
