"""Random changes of a repository, loads and unloads: the index, and each response."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .elsewhere import CONFIG, Elsewhere, elsewhere, put
from .targets import Target

pytestmark = pytest.mark.timeout(600)  # A busy machine loads slowly.
STEPS = 60
"""Number of steps of a seed."""
POLICIES = [
    "",
    "version_policy { latest { num_versions: 2 } }",
    "version_policy { all { } }",
    "version_policy { specific { versions: [1, 3] } }",
    "version_policy { specific { versions: [7] } }",
]
MORE = [*[""] * 6, "dynamic_batching { }", "max_batch_size: -1", "broken {"]
INITIALIZE = [*["pass"] * 5, "raise ValueError('no')", "1 / 0"]
OVERRIDES: list[dict[str, Any]] = [
    {},
    {"version_policy": {"all": {}}},
    {"max_batch_size": 2},
    {"bad": 1},
]
OVERRIDDEN = {
    "backend": "python",
    "output": [{"name": "Y", "data_type": "TYPE_INT32", "dims": [1]}],
}
ENSEMBLE = """
platform: "ensemble"
output {{ name: "Y" data_type: TYPE_INT32 dims: [ 1 ] }}
ensemble_scheduling {{
  step {{
    model_name: "{}" model_version: {} output_map {{ key: "Y" value: "Y" }}
  }}
}}
"""
Step = Callable[[Elsewhere, Path], Any]


def step(rng: random.Random) -> Step:
    """Draw a step, which returns what the server says, or None."""
    kinds = [written, removed, composed, loaded, overridden, unloaded, asked]
    return rng.choices(kinds, [30, 10, 6, 26, 8, 10, 10])[0](rng)


def written(rng: random.Random) -> Step:
    """Write a version of a model, and the configuration of all."""
    initialize = rng.choice(INITIALIZE)
    # Of two versions that fail Triton names any one first.
    version = rng.choice("123") if initialize == "pass" else "1"
    name, answer = rng.choice("ab"), rng.randrange(100)
    config = " ".join([CONFIG, rng.choice(POLICIES), rng.choice(MORE)])
    return lambda _, folder: put(
        folder, name, answer, version=version, initialize=initialize, config=config
    )


def removed(rng: random.Random) -> Step:
    """Remove a version, or a model."""
    path = rng.choice(["a/1", "a/2", "b/1", "b/3", "a", "b"])
    return lambda _, folder: shutil.rmtree(folder / path, ignore_errors=True)


def composed(rng: random.Random) -> Step:
    """Write an ensemble of one model."""
    config = ENSEMBLE.format(rng.choice("ab"), rng.choice(["-1", "1", "3"]))

    def write(_: Elsewhere, folder: Path) -> None:
        (folder / "e" / "1").mkdir(parents=True, exist_ok=True)
        (folder / "e" / "config.pbtxt").write_text(config)

    return write


def loaded(rng: random.Random) -> Step:
    """Load a model."""
    name = rng.choice("abe")
    return lambda server, _: server.load(name)


def overridden(rng: random.Random) -> Step:
    """Load a model with another configuration."""
    name, config = rng.choice("ab"), {**OVERRIDDEN, **rng.choice(OVERRIDES)}
    return lambda server, _: server.load(name, config)


def unloaded(rng: random.Random) -> Step:
    """Unload a model."""
    name = rng.choice("abe")
    return lambda server, _: server.unload(name)


def asked(rng: random.Random) -> Step:
    """Send a request to a model or a version."""
    name, version = rng.choice("abe"), rng.choice(["", "1", "2", "3"])
    return lambda server, _: server.infer(name, version)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_changes_of_a_repository(agree, folders, seed):
    """After each step both servers have the same versions in the same states."""

    def case(target: Target) -> list[Any]:
        rng, place, found = random.Random(seed), folders(), []
        with elsewhere(target, place) as server:
            for _ in range(STEPS):
                said = step(rng)(server, place / "models")
                found.append(without_lines([said, server.index()]))
        return found

    agree(case)


def without_lines(said: list[Any]) -> Any:
    """Return what a server said, without numbers of lines."""
    text = json.dumps(said, default=list)
    return json.loads(re.sub(r"model\.py\(\d+\)", "model.py", text))
