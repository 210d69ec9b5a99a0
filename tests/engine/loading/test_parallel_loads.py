"""Loads at the same time: which run side by side, and what they leave."""

from __future__ import annotations

import random
import threading
from collections import Counter

import numpy as np
import pytest
import stage
import waiting
from asserting import every
from cells import CONFIG, cell

from blsnb import ModelLoadError, Server, WouldHang
from blsnb.parts.server_parts import parts_of

from .test_ensembles import CHILD, ensemble, step

MODELS = 20
CLIENTS = 6
CHANGES = 15
MEETING = """
def initialize(self, args):
    stage.barriers["both"].wait(60)

"""
WAITING = """
def initialize(self, args):
    stage.events["begun"].set()
    stage.events["go"].wait(60)

"""
CROSSING = """
def initialize(self, args):
    stage.events["%s"].set()
    stage.events["%s"].wait(60)
    pb_utils.load_model("%s")

"""
LIVING = """
def initialize(self, args):
    self.name = args["model_name"]
    stage.seen.append(("initialize", self.name))

def finalize(self):
    stage.seen.append(("finalize", self.name))

"""
X = {"X": np.array([1, 2], np.float32)}
ECHO = "return [reply(x_of(request))]"


@pytest.fixture
def write(tmp_path):
    """Write a model into the repository."""

    def write_model(name: str, config: str = CONFIG, methods: str = "") -> None:
        folder = tmp_path / name
        (folder / "1").mkdir(parents=True)
        (folder / "config.pbtxt").write_text(config)
        if "ensemble" not in config:
            (folder / "1" / "model.py").write_text(cell(ECHO, methods=methods))

    return write_model


@pytest.fixture
def server(tmp_path):
    """A server of the repository; clients load its models."""
    with Server(model_repository=tmp_path) as server:
        yield server
        stage.clear()


def in_threads(work, arguments) -> list[str]:
    """Call a function with each argument at the same time; return the error texts."""
    errors: list[str] = []

    def call(argument) -> None:
        try:
            work(argument)
        except (ModelLoadError, WouldHang) as error:
            errors.append(error.message)

    threads = [threading.Thread(target=call, args=(each,)) for each in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert [] == [thread for thread in threads if thread.is_alive()]
    return errors


def ready(server: Server) -> set[str]:
    """Return the names of the models that serve."""
    return {row["name"] for row in server.index() if row.get("state") == "READY"}


def test_unrelated_models_initialise_at_the_same_time(server, write):
    """Each `initialize` waits until the other one runs."""
    stage.barriers["both"] = threading.Barrier(2)
    for name in ("a", "b"):
        write(name, methods=MEETING)

    assert [] == in_threads(server.load, ["a", "b"])
    assert {"a", "b"} == ready(server)


def test_an_ensemble_waits_for_the_load_of_its_model(server, write):
    """It does not load the model a second time."""
    write("slow", CHILD, methods=WAITING)
    write("chain", ensemble(step("slow", "EX", "EY")))
    threads = [
        threading.Thread(target=server.load, args=(name,)) for name in ("slow", "chain")
    ]
    threads[0].start()
    assert stage.events["begun"].wait(60)
    threads[1].start()
    load_lock = parts_of(server).control._runner.lock
    assert waiting.until(lambda: len(load_lock._holds) > 1)
    assert set() == ready(server)
    stage.events["go"].set()
    for thread in threads:
        thread.join(60)

    assert {"slow", "chain"} == ready(server)


def test_an_unrelated_load_does_not_wait_for_an_ensemble(server, write):
    """Only models that ensembles connect with each other wait."""
    write("slow", CHILD, methods=WAITING)
    write("chain", ensemble(step("slow", "EX", "EY")))
    write("other")
    thread = threading.Thread(target=server.load, args=("chain",))
    thread.start()
    assert stage.events["begun"].wait(60)
    server.load("other")

    assert {"other"} == ready(server)
    stage.events["go"].set()
    thread.join(60)
    assert {"other", "slow", "chain"} == ready(server)


def test_two_models_that_load_each_other_are_refused(server, write):
    """Triton would hang; here both loads end with an error that says why."""
    write("a", methods=CROSSING % ("a", "b", "b"))
    write("b", methods=CROSSING % ("b", "a", "a"))

    errors = in_threads(server.load, ["a", "b"])

    assert ["Triton would hang"] * 2 == [error.partition(":")[0] for error in errors]
    assert any("which itself waits for this load" in error for error in errors)
    assert set() == ready(server)


@pytest.mark.timeout(120)
def test_no_model_is_lost_in_many_loads_and_unloads(server, write):
    """Any order of loads and unloads ends, and every load has its unload."""
    names = [f"m{number}" for number in range(MODELS)]
    for name in names:
        write(name, CHILD, methods=LIVING)
    for number in range(0, 6, 2):
        steps = step(f"m{number}", "EX", "M"), step(f"m{number + 1}", "M", "EY")
        write(f"e{number}", ensemble(*steps))
    everything = [*names, "e0", "e2", "e4"]

    def change(number: int) -> None:
        choose = random.Random(number)
        for _ in range(CHANGES):
            name = choose.choice(everything)
            if choose.random() < 0.6:
                server.load(name)
            else:
                server.unload(name, unload_dependents=choose.random() < 0.5)

    assert [] == in_threads(change, range(CLIENTS))
    assert [] == in_threads(server.load, everything)
    assert set(everything) == ready(server)
    assert every([1, 2] == server.infer(name, X)["Y"].tolist() for name in names)
    for name in everything:
        server.unload(name)
    assert set() == ready(server)
    lives = Counter(stage.seen)
    begun = {name: lives["initialize", name] for name in names}
    assert begun == {name: lives["finalize", name] for name in names}
