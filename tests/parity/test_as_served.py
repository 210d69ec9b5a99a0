"""A real server of a comparison's own is set up as the one here."""

from __future__ import annotations

from pathlib import Path

import pytest

from blsnb.engine.scheduling.resource_admission import parse_rate_limit
from blsnb.engine.settings import Settings
from blsnb.inference_server import Server
from blsnb.model.config import parse_pbtxt
from blsnb.parity.triton.server_options import server_options

from .models import CONFIG, source

NAMED = """
import json
config = json.loads(self.model_config)
said = config["parameters"].get("says", {}).get("string_value", "0")
return [reply(np.float32([float(said)]))]
"""
COUNTING = """
import builtins
TritonPythonModel.seen = getattr(TritonPythonModel, "seen", 0) + 1
return [reply(np.float32([TritonPythonModel.seen]))]
"""
INITIALIZE = """
    def initialize(self, args):
        self.model_config = args["model_config"]
"""


def saying(number: int) -> str:
    """Return a configuration with a parameter."""
    said = f'{{ key: "says" value {{ string_value: "{number}" }} }}'
    return f"{CONFIG} parameters {said}"


@pytest.mark.triton_server
def test_what_was_given_with_a_load_is_compared(real):
    """A configuration, or files, though no folder of the repository holds them."""
    model = source(NAMED) + INITIALIZE
    with Server(triton_release="24.10") as server:
        server.define("told", model, config=saying(1))
        server.load("told", config=parse_pbtxt(saying(2)))
        files = {"file:1/model.py": model}
        server.load("given", config=parse_pbtxt(saying(3)), files=files)
        found = [server.compare(name, {"X": [0.0]}) for name in ("told", "given")]

        assert [True, True] == [each.agree for each in found], found
        answers = [each.cases[0].real_run["Y"].tolist() for each in found]
        assert [[2.0], [3.0]] == answers
        assert [] == [note for each in found for note in each.notes if "load" in note]


@pytest.mark.triton_server
def test_a_response_cache_is_compared(real):
    """What is asked twice is executed once, on both."""
    config = f"{CONFIG} response_cache {{ enable: true }}"
    with Server(triton_release="24.10", cache_bytes=1 << 20) as server:
        server.define("counting", source(COUNTING), config=config)
        parity = server.compare(
            "counting", {"X": [0.0]}, cases=[{"inputs": {"X": [0]}}]
        )

    assert parity.agree, parity
    last = parity.cases[-1]
    assert [[1.0], [1.0]] == [last.run["Y"].tolist(), last.real_run["Y"].tolist()]


def test_a_real_server_is_told_what_ours_was(tmp_path):
    """Strictness, a response cache, and what a rate limiter has."""
    limits = parse_rate_limit("execution_count", {"R": 2, "S": {0: 1, 1: 3}})
    told = Settings((24, 10), 10.0, True, 4096, limits)

    assert [] == server_options(Settings((24, 10)), tmp_path)
    assert [
        "--disable-auto-complete-config",
        "--cache-config=local,size=4096",
        f"--cache-directory={tmp_path}",
        "--rate-limit=execution_count",
        "--rate-limit-resource=R:2",
        "--rate-limit-resource=S:1:0",
        "--rate-limit-resource=S:3:1",
    ] == server_options(told, tmp_path)
    # A server on PATH knows where its own caches are.
    assert "--cache-directory" not in str(server_options(told, Path("/nowhere")))
