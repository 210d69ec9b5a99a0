"""Ctrl-C at every line of a definition: what serves is what the folder holds."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest
import stage
from cells import CONFIG, cell
from faults import LineFault, lines_of, press_ctrl_c, raise_interrupt

from blsnb.errors import ModelLoadError

X = {"X": np.array([1], np.float32)}
FILES = ("files", "repository", "models.py")
LOADING = (*FILES, "loading")
OLD = cell("return [reply(x_of(request) * 2)]")
NEW = cell("return [reply(x_of(request) * 3)]")
FAILING = f"{NEW}\nraise ValueError('it does not load')"
FACTORS = {OLD: 2, NEW: 3}


def ways():
    """Return some lines of both kinds of interrupts, and by and by all lines.

    A signal may come anywhere; what is raised stands for it where files are changed.
    """
    return [
        pytest.param(raise_interrupt, FILES, 23, id="raised"),
        pytest.param(press_ctrl_c, LOADING, 41, id="signal"),
        pytest.param(
            raise_interrupt, FILES, 1, id="raised every line", marks=pytest.mark.slow
        ),
        pytest.param(
            press_ctrl_c, LOADING, 1, id="signal every line", marks=pytest.mark.slow
        ),
    ]


def define(server, source, **more):
    """Define the model; that it does not load is not minded."""
    with contextlib.suppress(ModelLoadError):
        server.define("m", source, config=CONFIG, files={"data": source}, **more)


def source_of(server):
    """Return the source of the model's folder."""
    return (server.repository.private("m").path / "1" / "model.py").read_text()


@pytest.mark.parametrize(("interrupt", "rooms", "step"), ways())
@pytest.mark.parametrize("source", [NEW, FAILING], ids=["loads", "fails"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_serves_is_what_the_folder_holds(server, interrupt, rooms, step, source):
    """The old model or the new one, whole; and the next definition works."""
    threads = threading.active_count()
    define(server, OLD)
    lines = lines_of(lambda: define(server, source), rooms)

    for number in range(1, lines + 1, step):
        define(server, OLD)
        assert [2] == server.infer("m", X)["Y"].tolist()
        fault = LineFault(number, rooms, interrupt)
        with contextlib.suppress(KeyboardInterrupt):
            fault.during(lambda: define(server, source))

        found = source_of(server)
        assert found in FACTORS, fault.where
        data = server.repository.private("m").path / "1" / "data"
        assert found == data.read_text(), fault.where
        assert ["m"] == [e.name for e in server.repository.private_root.iterdir()]
        assert [FACTORS[found]] == server.infer("m", X)["Y"].tolist(), fault.where
    assert threads == threading.active_count()


@pytest.mark.parametrize(("interrupt", "rooms", "step"), ways())
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_first_definition_serves_or_there_is_no_model(server, interrupt, rooms, step):
    """Neither a folder that does not serve, nor a model without a folder."""
    lines = lines_of(lambda: define(server, NEW), rooms)

    for number in range(1, lines + 1, step):
        name = f"m{number}"
        fault = LineFault(number, rooms, interrupt)
        with contextlib.suppress(KeyboardInterrupt):
            fault.during(lambda of=name: server.define(of, NEW, config=CONFIG))
        serves = server.model(name).state == "READY"
        assert serves == (name in server.repository.names()), fault.where
        if serves:
            assert [3] == server.infer(name, X)["Y"].tolist()


def test_ctrl_c_in_a_model_that_loads_leaves_the_old_one(server, ctrl_c):
    """While its code runs it is Ctrl-C that ends the definition."""
    define(server, OLD)
    asleep = cell("pass", methods="def initialize(self, args):\n    stage.sleep()\n")

    ctrl_c.expect(lambda: server.define("m", asleep, config=CONFIG))

    assert [2] == server.infer("m", X)["Y"].tolist()
    assert OLD == source_of(server)
    assert ["m"] == [e.name for e in server.repository.private_root.iterdir()]
    assert stage.events["asleep"].is_set()
