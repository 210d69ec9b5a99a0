"""When ``finalize`` is called: after the last request of the model has ended."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from waiting import until

from .elsewhere import CONFIG

MODEL = """
import os
import threading
import numpy as np
import triton_python_backend_utils as pb_utils

FOLDER = {folder!r}

def note(text):
    with open(os.path.join(FOLDER, "notes"), "a") as notes:
        notes.write(text + "\\n")

def wait():
    while not os.path.exists(os.path.join(FOLDER, "go")):
        threading.Event().wait(0.002)

class TritonPythonModel:
    def initialize(self, args):
        self.threads = []

    def execute(self, requests):
        note("execute")
        {execute}

    def send(self, senders):
        y = pb_utils.Tensor("Y", np.array([1], np.int32))
        wait()
        note("answers")
        for sender in senders:
            sender.send(pb_utils.InferenceResponse([y]), flags={final})

    def finalize(self):
        note("finalize")
        for thread in self.threads:
            thread.join()
"""
FINAL = "pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL"
IN_EXECUTE = """wait()
        note("answers")
        y = pb_utils.Tensor("Y", np.array([1], np.int32))
        return [pb_utils.InferenceResponse([y]) for _ in requests]"""
ON_A_THREAD = """senders = [request.get_response_sender() for request in requests]
        self.threads += [threading.Thread(target=self.send, args=(senders,))]
        self.threads[-1].start()
        note("returns")"""
TWO = f"{CONFIG} instance_group {{ count: 2 kind: KIND_CPU }}"
MODELS = {
    "another instance executes": (IN_EXECUTE, TWO),
    "a sender has not answered": (ON_A_THREAD, CONFIG),
}


@pytest.mark.parametrize("case_name", MODELS)
def test_finalize_follows_the_last_request(agree, disks, case_name):
    """Also that of another instance, and what a sender answers after ``execute``."""
    execute, config = MODELS[case_name]

    def case(target):
        disk = disks()
        disk.put("m", config=config)
        source = MODEL.format(folder=str(disk.folder), execute=execute, final=FINAL)
        (disk.models / "m" / "1" / "model.py").write_text(source)
        notes = disk.folder / "notes"

        def noted():
            return notes.read_text().split() if notes.exists() else []

        with ThreadPoolExecutor() as pool, disk.serving(target) as server:
            failure = server.load("m")
            answer = pool.submit(server.infer, "m")
            until(lambda: len(noted()) > (execute is ON_A_THREAD))
            change = pool.submit(server.unload, "m")
            until(lambda: "UNLOADING" in str(server.index()))
            before = noted()
            (disk.folder / "go").touch()
            answers = [failure, answer.result(), change.result()]
            until(lambda: noted().count("finalize") == (2 if config is TWO else 1))
            return [before, answers, noted()]

    agree(case)
