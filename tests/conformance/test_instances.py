"""Instances with their own state, their choice, and a reload."""

from concurrent.futures import ThreadPoolExecutor

from waiting import until

from .counting import counted, statistics
from .covering import rows
from .scripted import ACCOUNT, pause, write
from .targets import Request

TELLING = ACCOUNT.replace(
    """self.instance = args["model_instance_name"]
""",
    """self.instance = args["model_instance_name"]
        kind, device = args["model_instance_kind"], args["model_instance_device_id"]
        self.note([["initialize", kind, device, COUNTER]])
        COUNTER.append(1)
""",
).replace("class TritonPythonModel:", "COUNTER = []\n\n\nclass TritonPythonModel:")
GROUPS = "instance_group [ { kind: KIND_CPU count: 2 }, { kind: KIND_MODEL } ]"


@rows(
    "r4.1/each-instance-one-own-stub-process",
    "r4.1/all-instances-of-a-model-pull",
    "r4.1/kind_model-model_instance_kind-model-otherwise-like-cpu",
)
def test_every_instance_is_a_model_of_its_own(agree, scene):
    """It has a name, a kind and globals; any idle one takes the next request."""

    def case(target):
        with scene(target, "several", GROUPS, source=TELLING) as s:
            made = sorted([name, *seen] for name, seen in s.calls())
            s.notes.joinpath("calls").unlink()
            for number in "123":
                s.hold(f"hold{number}")
            s.ask("waits")
            pending = s.pending()
            for number in "123":
                s.go(f"hold{number}")
            said = s.over()
            took = [name for name, seen in s.calls() if seen[0][0] != "waits"]
            return [made, pending, said, s.executed(), sorted(took)]

    agree(case)


HELD_S = 0.15


@rows(
    "r5.1/success",
    "r5.1/queue",
    "r5.1/compute_input",
    "r5.1/compute_infer",
    "r5.1/compute_output",
    "r5.1/fail",
)
def test_which_time_is_counted_where(agree, scene):
    """Waiting for an instance is queue time; computing begins at COMPUTE_START."""
    source = ACCOUNT.replace(
        "return self.answer(requests)",
        """if "fails" in requests[0].request_id():
            raise ValueError("boom")
        return self.answer(requests)""",
    )

    def long(entry):
        return int(entry["ns"]) > HELD_S * 0.9e9

    def case(target):
        with scene(target, "timed", "", source=source) as s:
            found = []
            for ids in (["hold1"], ["hold2", "waits"], ["hold fails", "waits too"]):
                for id in ids:
                    s.ask(id)
                pause(HELD_S)
                s.go(ids[0])
                s.over(*ids)
                counted(s.target, "timed", len(s.futures))
                stats = statistics(s.target, "timed")["inference_stats"]
                found.append({key: long(stats[key]) for key in sorted(stats)})
                success = int(stats["success"]["ns"])
                phases = ("queue", "compute_input", "compute_infer", "compute_output")
                found.append(success >= sum(int(stats[key]["ns"]) for key in phases))
            return [found, s.groups()]

    agree(case)


STAGED = """
import os
import threading

import numpy as np
import triton_python_backend_utils as pb_utils

NOTES = "{notes}"


class TritonPythonModel:
    def initialize(self, args):
        self.note("initialize {number}")
        while {number} == 2 and not os.path.exists(os.path.join(NOTES, "go")):
            threading.Event().wait(0.002)
        self.note("initialized {number}")

    def note(self, text):
        with open(os.path.join(NOTES, "seen"), "a") as file:
            file.write(text + chr(10))

    def execute(self, requests):
        y = pb_utils.Tensor("Y", np.array([{number}], np.int32))
        return [pb_utils.InferenceResponse([y]) for _ in requests]

    def finalize(self):
        self.note("finalize {number}")
"""
ANSWERS = 'backend: "python" output { name: "Y" data_type: TYPE_INT32 dims: [ 1 ] }'


@rows("r1.4/reload-while-serving", "r1.4/order")
def test_a_reload_lets_the_old_copy_serve(agree, beside, tmp_path):
    """The old copy ends only when the new one is ready."""

    def case(target):
        other, notes = beside(target), tmp_path / target.name
        notes.mkdir()

        def put(number):
            source = STAGED.format(notes=notes, number=number)
            write(other, "staged", ANSWERS, source)

        def seen():
            return (notes / "seen").read_text().splitlines()

        def load():
            # Not again: it is loaded, in the eyes of the target.
            other._loaded.pop("staged", None)
            return other.load("staged")

        put(1)
        answers = [load(), other.infer(Request("staged"))]
        put(2)
        with ThreadPoolExecutor() as pool:
            loading = pool.submit(load)
            until(lambda: "initialize 2" in seen())
            answers.append(other.infer(Request("staged")))
            (notes / "go").touch()
            answers.append(loading.result())
        answers.append(other.infer(Request("staged")))
        until(lambda: "finalize 1" in seen())
        other.unload("staged")
        until(lambda: "finalize 2" in seen())
        return [answers, seen()]

    agree(case)
