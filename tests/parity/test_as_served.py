"""A started real server repeats the settings and overrides of the blsnb server."""

from __future__ import annotations

from pathlib import Path

import pytest

from blsnb.engine.scheduling.resource_admission import parse_rate_limit
from blsnb.engine.settings import Settings
from blsnb.inference_server import Server
from blsnb.model.config import parse_pbtxt
from blsnb.parity.targets import server_options

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
    """Return a configuration with a parameter ``says``."""
    said = f'{{ key: "says" value {{ string_value: "{number}" }} }}'
    return f"{CONFIG} parameters {said}"


@pytest.mark.triton_server
def test_overrides_of_a_load_are_exported(real):
    """Configurations and files that are not in a folder of the repository count."""
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
def test_a_response_cache_is_set_up(real):
    """A repeated request is executed once on both servers."""
    config = f"{CONFIG} response_cache {{ enable: true }}"
    with Server(triton_release="24.10", cache_bytes=1 << 20) as server:
        server.define("counting", source(COUNTING), config=config)
        parity = server.compare(
            "counting", {"X": [0.0]}, cases=[{"inputs": {"X": [0]}}]
        )

    assert parity.agree, parity
    last = parity.cases[-1]
    assert [[1.0], [1.0]] == [last.run["Y"].tolist(), last.real_run["Y"].tolist()]


def test_options_repeat_the_settings(tmp_path):
    """Strictness, response cache and rate limiter resources become arguments."""
    limits = parse_rate_limit("execution_count", {"R": 2, "S": {0: 1, 1: 3}})
    settings = Settings((24, 10), 10.0, True, 4096, limits)

    assert [] == server_options(Settings((24, 10)), tmp_path)
    assert [
        "--disable-auto-complete-config",
        "--cache-config=local,size=4096",
        "--rate-limit=execution_count",
        "--rate-limit-resource=R:2",
        "--rate-limit-resource=S:1:0",
        "--rate-limit-resource=S:3:1",
        f"--cache-directory={tmp_path}",
    ] == server_options(settings, tmp_path)
    # A server on PATH finds its own caches.
    assert "--cache-directory" not in str(server_options(settings, Path("/nowhere")))
