"""Ctrl-C at every line of a definition: what serves is what the folder holds."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading

import numpy as np
import pytest
import stage
from cells import CONFIG, cell
from faults import FILES, LineFault, lines_of, press_ctrl_c, raise_interrupt

from blsnb.errors import ModelLoadError
from blsnb.parts.server_parts import parts_of

X = {"X": np.array([1], np.float32)}
CHANGES = (*FILES, "repository", "parts/models.py")
LOADING = (*CHANGES, "engine/loading")
OLD = cell("return [reply(x_of(request) * 2)]")
NEW = cell("return [reply(x_of(request) * 3)]")
FAILING = f"{NEW}\nraise ValueError('it does not load')"
FACTORS = {OLD: 2, NEW: 3}


def ways():
    """Return some lines of both kinds of interrupts, and eventually all lines.

    A signal may come anywhere; what is raised stands for it where files are changed.
    """
    return [
        pytest.param(raise_interrupt, CHANGES, 23, id="raised"),
        pytest.param(press_ctrl_c, LOADING, 41, id="signal"),
        pytest.param(
            raise_interrupt, CHANGES, 1, id="raised every line", marks=pytest.mark.slow
        ),
        pytest.param(
            press_ctrl_c, LOADING, 1, id="signal every line", marks=pytest.mark.slow
        ),
    ]


def define(server, source, **more):
    """Define the model; a failed load is ignored."""
    with contextlib.suppress(ModelLoadError):
        server.define("m", source, config=CONFIG, files={"data": source}, **more)


def source_of(server):
    """Return the source of the model's folder."""
    return (
        parts_of(server).repository.private("m").path / "1" / "model.py"
    ).read_text()


@pytest.mark.parametrize(("interrupt", "rooms", "step"), ways())
@pytest.mark.parametrize("source", [NEW, FAILING], ids=["loads", "fails"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_serving_version_is_that_of_the_folder(
    server, interrupt, rooms, step, source, figures
):
    """It is the old or the new model, complete; the next definition works."""
    threads = threading.active_count()
    define(server, OLD)
    lines = lines_of(lambda: define(server, source), rooms)
    interrupts = 0

    for number in range(1, lines + 1, step):
        define(server, OLD)
        assert [2] == server.infer("m", X)["Y"].tolist()
        fault = LineFault(number, rooms, interrupt)
        with contextlib.suppress(KeyboardInterrupt):
            fault.during(lambda: define(server, source))
        interrupts += bool(fault.where)

        found = source_of(server)
        assert found in FACTORS, fault.where
        data = parts_of(server).repository.private("m").path / "1" / "data"
        assert found == data.read_text(), fault.where
        assert ["m"] == [
            e.name for e in parts_of(server).repository.private_root.iterdir()
        ]
        assert [FACTORS[found]] == server.infer("m", X)["Y"].tolist(), fault.where
    assert threads == threading.active_count()
    assert interrupts
    figures(interrupts=interrupts)


@pytest.mark.parametrize(("interrupt", "rooms", "step"), ways())
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_first_definition_serves_or_there_is_no_model(
    server, interrupt, rooms, step, figures
):
    """There is neither a folder without a model nor a model without a folder."""
    lines = lines_of(lambda: define(server, NEW), rooms)
    interrupts = 0

    for number in range(1, lines + 1, step):
        name = f"m{number}"
        fault = LineFault(number, rooms, interrupt)
        with contextlib.suppress(KeyboardInterrupt):
            fault.during(lambda of=name: server.define(of, NEW, config=CONFIG))
        interrupts += bool(fault.where)
        serves = server.model(name).state == "READY"
        assert serves == (name in parts_of(server).repository.names()), fault.where
        if serves:
            assert [3] == server.infer(name, X)["Y"].tolist()
    assert interrupts
    figures(interrupts=interrupts)


def test_ctrl_c_in_a_model_that_loads_leaves_the_old_one(server, ctrl_c):
    """In model code Ctrl-C ends the definition."""
    define(server, OLD)
    asleep = cell("pass", methods="def initialize(self, args):\n    stage.sleep()\n")

    ctrl_c.expect(lambda: server.define("m", asleep, config=CONFIG))

    assert [2] == server.infer("m", X)["Y"].tolist()
    assert OLD == source_of(server)
    assert ["m"] == [e.name for e in parts_of(server).repository.private_root.iterdir()]
    assert stage.events["asleep"].is_set()


def hit(call, delay_s, count):
    """Press Ctrl-C at most twice during a call; return whether it was raised."""
    assert count <= 2
    done = threading.Event()

    def press():
        for _ in range(count):
            if done.wait(delay_s):
                return
            os.kill(os.getpid(), signal.SIGINT)

    def settle():
        done.set()
        thread.join()

    thread = threading.Thread(target=press)
    came = False
    failure = None
    # Each level takes one interrupt; between levels no instruction can be interrupted.
    try:
        try:
            try:
                thread.start()
                call()
            except KeyboardInterrupt:
                came = True
            except Exception as error:
                # Raised when no further Ctrl-C can meet its report.
                failure = error
            settle()
        except KeyboardInterrupt:
            came = True
        settle()
    except KeyboardInterrupt:
        came = True
    settle()
    if failure is not None:
        raise failure
    return came


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("rounds", [1500])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_at_any_moment_once_and_twice(server, rounds, figures, monkeypatch):
    """It may come between any two instructions, and during the undo."""
    # pytest's hook is long enough to be interrupted itself, which is no fault of ours.
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    chance = random.Random(7)
    define(server, OLD)
    folder = parts_of(server).repository.private("m").path
    hits = 0

    for number in range(1, rounds):
        source = f"{cell(f'return [reply(x_of(request) * {number})]')}"
        files = {"data": str(number)}
        if chance.random() < 0.5:
            source += "\nraise ValueError('it does not load')"

        def change(source=source, files=files):
            with contextlib.suppress(ModelLoadError):
                server.define("m", source, config=CONFIG, files=files)

        before = (folder / "1" / "model.py").read_text()
        hits += hit(change, chance.random() * 0.01, chance.choice([1, 1, 2]))
        held = (folder / "1" / "model.py").read_text()
        assert held in (before, source)
        data = (folder / "1" / "data").read_text()
        factor = 2 if held == OLD else int(data)
        assert [factor] == server.infer("m", X)["Y"].tolist()
        assert ["m"] == [
            e.name for e in parts_of(server).repository.private_root.iterdir()
        ]
    assert hits
    figures(definitions=rounds - 1, interrupted=hits)
