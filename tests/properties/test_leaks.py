"""Whoever works in one kernel all day has as much memory in the evening."""

from __future__ import annotations

import json
import linecache
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb import InferenceError
from blsnb.engine.loading.loader import Origins
from blsnb.errors import ModelLoadError
from blsnb.parts.server_parts import parts_of
from blsnb.trace.events import Origin

HUNT = Path(__file__).with_name("leak_hunt.py")
CALLS = 1_000_000
CYCLES = 10_000
MIB = 1 << 20
X = {"X": np.array([1, 2], np.float32)}


measured = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc"
)


def hunt(*what: object) -> dict[str, Any]:
    """Run the hunt in a separate process."""
    command = [sys.executable, str(HUNT), *map(str, what)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def test_python_forgets_the_folder_of_an_unloaded_model(server):
    """Neither import caches nor cached source lines remain."""
    folder = str(parts_of(server).repository.private_root)
    raising = cell("import math\nraise ValueError('boom')")
    server.define("raising", raising, config=CONFIG, files={"beside.py": ""})
    with pytest.raises(InferenceError) as caught:
        server.infer("raising", X)
    traceback.format_exception(caught.value)
    assert remembered(folder)
    server.unload("raising")

    assert [] == remembered(folder)


def test_python_forgets_a_model_that_never_was(server):
    """Its traceback can be shown, and leaves nothing behind."""
    folder = str(parts_of(server).repository.private_root)
    with pytest.raises(ModelLoadError) as caught:
        server.define("broken", f"{DOUBLE}\nno_such_name\n", config=CONFIG)

    assert "no_such_name" in "".join(traceback.format_exception(caught.value))
    assert [] == remembered(folder)


def remembered(folder: str) -> list[str]:
    """Return what Python's caches have of a folder."""
    caches = (sys.path_importer_cache, linecache.cache)
    return [path for cache in caches for path in cache if path.startswith(folder)]


def test_only_the_latest_cells_are_remembered_as_origins():
    """A cell is edited all day, and each edit is another source."""
    origins = Origins()
    for number in range(2000):
        origins[f"source {number}"] = Origin(f"In[{number}]", 1)
    origins["source 1600"] = Origin("In[2001]", 1)
    for number in range(2000, 2450):
        origins[f"source {number}"] = Origin(f"In[{number}]", 1)

    assert 500 == len(origins)
    assert Origin("In[2001]", 1) == origins["source 1600"]
    assert "source 1601" not in origins


@pytest.mark.slow
@pytest.mark.timeout(1800)
@measured
def test_ten_thousand_models_come_and_go_without_a_trace(figures):
    """No more threads, modules, lines or hooks than after a thousand; at most 5 MiB."""
    # Some fail to load, some fail to execute, some have threads of their own.
    found = hunt("cycles", CYCLES)
    settled, end = found["settled"], found["end"]
    grown = end.pop("rss") - settled.pop("rss")

    assert settled == end
    assert grown <= 5 * MIB
    figures(models=CYCLES)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@measured
@pytest.mark.parametrize("per_run", [1000, CALLS], ids=["many runs", "one run"])
def test_a_million_calls_take_no_more_memory_than_ten_thousand(per_run, figures):
    """A byte for each further call at most, with every call traced."""
    # Of many runs fifty are kept: their memory grows until there are as many.
    samples = dict(hunt("calls", CALLS, per_run)["samples"])
    settled = 10_000 if per_run == CALLS else 60_000

    assert [*range(10_000, CALLS + 1, 10_000)] == list(samples)
    assert samples[CALLS] - samples[settled] <= CALLS - settled
    figures(calls=CALLS)
