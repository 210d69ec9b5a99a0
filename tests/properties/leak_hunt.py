"""What stays behind of many loads and many calls, measured in a process of its own.

Run as ``python leak_hunt.py cycles 10000`` or ``calls 1000000 1000``; prints JSON.
"""

from __future__ import annotations

import contextlib
import gc
import json
import linecache
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import stage
from cells import CONFIG, DOUBLE, cell

from blsnb import InferenceError, Server
from blsnb.errors import ModelLoadError
from blsnb.parts.server_parts import parts_of
from blsnb.trace.events import Origin

PAGE = 4096
SETTLED_CYCLES = 1000
SETTLED_CALLS = 10_000
X = {"X": np.array([1, 2], np.float32)}
FAN_OUT = cell(
    """
    calls = [ask("double", request).async_exec() for _ in range(2)]
    return [reply(sum(answer_of(answer) for answer in await asyncio.gather(*calls)))]
    """,
    asynchronous=True,
)
RAISING = cell("raise ValueError('boom')")
BROKEN = f"{DOUBLE}\nno_such_name\n"
LOOP = cell(
    """
    value = np.zeros(1, np.float32)
    for _ in range(int(x_of(request)[0])):
        response = pb_utils.InferenceRequest(
            model_name="identity",
            inputs=[pb_utils.Tensor("X", value)],
            requested_output_names=["Y"],
        ).exec()
        assert not response.has_error()
        stage.values["tick"]()
    return [reply(value)]
    """
)


def rss() -> int:
    """Return the memory that is resident, without what only waits for a collection."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def state() -> dict[str, Any]:
    """Return what no cycle may add to."""
    return {
        "rss": rss(),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "modules": sorted(sys.modules),
        "lines": sorted(linecache.cache),
        "importers": len(sys.path_importer_cache),
    }


def cycles(count: int) -> dict[str, Any]:
    """Define, infer and unload a number of models, good and bad; no source comes twice.

    A name comes ten times: an unloaded model stays in the index, as on Triton.
    """
    sources = (DOUBLE, FAN_OUT, RAISING)
    with Server() as server:
        server.define("double", DOUBLE, config=CONFIG)
        for number in range(1, count + 1):
            name = f"edited_{number // 10}"
            attempt(server, name, f"{sources[number % 3]}# {number}\n", number)
            if number % 4 == 0:
                # What served before still does.
                attempt(server, name, f"{BROKEN}# {number}\n", number)
            if number % 4 == 1:
                attempt(server, f"broken_{number}", BROKEN, number)
            server.unload(name)
            if number == min(SETTLED_CYCLES, count // 2):
                settled = state()
        return {"settled": settled, "end": state()}


def attempt(server: Server, name: str, source: str, number: int) -> None:
    """Define a model and a caller, as cells do."""
    parts_of(server).control.origins[source] = Origin(f"In[{number}]", 1)
    try:
        server.define(name, source, config=CONFIG)
        server.infer(name, X)
    except (InferenceError, ModelLoadError) as error:
        # Shown, a traceback reads the lines of the model's file.
        traceback.format_exception(error)


def calls(total: int, per_run: int) -> dict[str, Any]:
    """Make a number of BLS calls, some per client request."""
    samples: list[tuple[int, int]] = []
    with Server(trace_level="timestamps") as server:
        server.define("identity", cell("return [reply(x_of(request))]"), config=CONFIG)
        server.define("loop", LOOP, config=CONFIG)
        stage.values["tick"] = ticking(samples)
        for _ in range(total // per_run):
            server.infer("loop", {"X": np.array([per_run], np.float32)})
    return {"samples": samples}


def ticking(samples: list[tuple[int, int]]) -> Callable[[], None]:
    """Return a function to call after each call, which measures periodically."""
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1
        if count % SETTLED_CALLS == 0:
            samples.append((count, rss()))

    return tick


if __name__ == "__main__":
    hunt = {"cycles": cycles, "calls": calls}[sys.argv[1]]
    with contextlib.redirect_stdout(sys.stderr):
        found = hunt(*map(int, sys.argv[2:]))
    print(json.dumps(found))
