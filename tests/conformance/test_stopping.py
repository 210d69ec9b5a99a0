"""Shutdown of a busy server: completed and refused requests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from waiting import until

from .covering import rows
from .elsewhere import CONFIG, elsewhere, put

HOLDING = """
import os
import threading

import numpy as np
import triton_python_backend_utils as pb_utils

NOTES = "{notes}"


class TritonPythonModel:
    def execute(self, requests):
        with open(os.path.join(NOTES, "busy"), "w"):
            pass
        while not os.path.exists(os.path.join(NOTES, "go")):
            threading.Event().wait(0.002)
        y = pb_utils.Tensor("Y", np.array([1], np.int32))
        return [pb_utils.InferenceResponse([y]) for _ in requests]
"""
MODELS = {
    # With a policy nothing is formed ahead: what waits stays in the queue.
    "held": "dynamic_batching { default_queue_policy { max_queue_size: 9 } }",
    "idle": "",
    "batched": "dynamic_batching {}",
    "sequences": "sequence_batching {}",
}
PENDING = 'nv_inference_pending_request_count{model="held",version="1"} 2'


@rows("r1.4/server-stopping")
def test_a_busy_server_stops(agree, folders):
    """Waiting requests complete; a new one is refused with the reason."""

    def case(target):
        folder = folders()
        notes, models = folder / "notes", folder / "models"
        notes.mkdir()
        for name, more in MODELS.items():
            put(models, name, config=f"{CONFIG} {more}")
        source = HOLDING.format(notes=notes)
        (models / "held" / "1" / "model.py").write_text(source)
        with (
            ThreadPoolExecutor() as pool,
            elsewhere(target, folder, exit_timeout_s=15) as server,
        ):
            seen = [server.load(name) for name in MODELS]
            first = pool.submit(server.infer, "held")
            until((notes / "busy").exists)
            others = [pool.submit(server.infer, "held") for _ in "12"]
            until(lambda: PENDING in server.metrics())
            server.stop()
            seen += [server.infer(name, id="x") for name in ("held", "idle", "batched")]
            seen += [server.infer("idle"), server.infer("nowhere", id="x")]
            seen += [server.infer("sequences", id="x", sequence=3)]
            (notes / "go").touch()
            return [*seen, *(each.result() for each in (first, *others))]

    agree(case)
