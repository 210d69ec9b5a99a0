"""Specification of models in a cell, below which the kernel's event loop runs."""

import asyncio

import numpy as np
import pytest
import stage
from cells import CONFIG, HEAD, cell

from blsnb.errors import InferenceError

X = {"X": np.array([1, 2], np.float32)}
HOOKS = f"""{HEAD}

async def note(name):
    stage.seen.append(name)


asyncio.run(note("import"))


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        asyncio.run(note("auto_complete_config"))
        return config

    def __init__(self):
        asyncio.run(note("__init__"))

    def initialize(self, args):
        asyncio.run(note("initialize"))

    def execute(self, requests):
        asyncio.run(note("execute"))
        return [reply(x_of(request)) for request in requests]

    def finalize(self):
        asyncio.run(note("finalize"))
"""
CALL = """
answer = answer_of(ask("inner", request).exec())
return [reply(answer)]
"""


def in_a_loop(function):
    """Call a function in a task, as a kernel does with a cell."""

    async def work():
        task = asyncio.current_task()
        found = function()
        assert (task, asyncio.get_event_loop()) == (
            asyncio.current_task(),
            asyncio.get_running_loop(),
        )
        return found

    return asyncio.run(work())


def test_every_hook_may_run_a_coroutine(server):
    """On Triton no loop runs where a model is called."""

    def use():
        server.define("inner", HOOKS, config=CONFIG)
        server.infer("inner", X)
        server.unload("inner")

    in_a_loop(use)

    hooks = ["import", "__init__", "initialize", "execute", "finalize"]
    assert hooks == [each for each in stage.seen if each in hooks][-5:]
    assert "auto_complete_config" in stage.seen


def test_a_model_that_a_coroutine_calls_may_run_a_coroutine(server):
    """The loop of the caller's instance is hidden, too."""
    server.define("inner", HOOKS, config=CONFIG)
    server.define("outer", cell(CALL, asynchronous=True), config=CONFIG)

    assert [1, 2] == server.infer("outer", X)["Y"].tolist()


def test_async_exec_needs_a_loop_of_the_model(server):
    """The loop of the kernel does not count, as on Triton."""
    server.define("inner", HOOKS, config=CONFIG)
    body = 'return ask("inner", request).async_exec()'
    server.define("outer", cell(body), config=CONFIG)

    def use():
        with pytest.raises(InferenceError, match="RuntimeError: no running event loop"):
            server.infer("outer", X)

    in_a_loop(use)
