"""Specification of actions of the panel that run code of models: Ctrl-C ends them."""

from dataclasses import replace

import numpy as np
import pytest
from waiting import until

from blsnb.panel.panel import Panel
from blsnb.views.documents.wire import page_id

from .conftest import Page

CONFIG = """
input { name: "X" data_type: TYPE_FP32 dims: -1 }
output { name: "Y" data_type: TYPE_FP32 dims: -1 }
"""
INTERRUPTED = """
import os
import signal

import triton_python_backend_utils as pb_utils


def wait(name):
    if os.environ.get("INTERRUPTED") == name:
        signal.raise_signal(signal.SIGINT)


class TritonPythonModel:
    def initialize(self, args):
        wait("load")

    def execute(self, requests):
        wait("replay")
        x = requests[0].inputs()[0].as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)])]
"""


@pytest.fixture
def page(host, loop):
    """A page of a kernel whose main thread is free, and calls what waits in `loop`."""
    panel = Panel(replace(host, interruptibly=lambda call, _: loop.append(call)))
    page = Page()
    panel.accept(page, {"v": 1, "type": "hello"})
    yield page
    panel.close()


@pytest.fixture
def run(server):
    server.define("m", INTERRUPTED, config=CONFIG)
    return server.infer("m", {"X": np.ones(2, np.float32)})


@pytest.mark.parametrize("action", ["load", "replay"])
def test_other_actions_are_answered_while_code_of_a_model_runs(page, run, loop, action):
    """It waits for the main thread, where Ctrl-C reaches it."""
    about = {"model": "m", "run": page_id(run.trace)}
    page.act(action, **about)
    page.act("pin", **about)
    assert until(lambda: run.pinned)


def test_an_interrupted_load_is_answered(server, page, run, loop, monkeypatch):
    """The page does not wait for it any longer."""
    server.unload("m")
    monkeypatch.setenv("INTERRUPTED", "load")
    page.act("load", model="m")
    loop.pop()()

    assert {"code": "refused", "text": "m: interrupted"} == page.answer["error"]


def test_an_interrupted_replay_is_answered(page, run, loop, monkeypatch):
    """The page does not wait for it any longer."""
    monkeypatch.setenv("INTERRUPTED", "replay")
    page.act("replay", run=page_id(run.trace))
    loop.pop()()

    text = "the run was interrupted"
    assert {"code": "refused", "text": text} == page.answer["error"]
