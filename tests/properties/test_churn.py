"""Requests while models are loaded, unloaded and redefined: each is executed once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress

import numpy as np
import pytest
import stage
from cells import HEAD, cell, touch

from blsnb import InferenceError, ModelLoadError, Response, Server

from .test_crowd import REFUSED

CLIENTS = 8
CHANGERS = 2
LONGEST_S = 300
IO = """
input { name: "X" data_type: TYPE_INT64 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_INT64 dims: [ 1 ] }
"""
GROUP = "instance_group { kind: KIND_CPU count: 2 }"
COUNTED = f"""{HEAD}
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = x_of(request)
            stage.seen.append(int(x.ravel()[0]))
            answers.append(reply(x * 10 + %d))
        return answers
"""
STREAMED = f"""{HEAD}
class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            x, sender = x_of(request), request.get_response_sender()
            stage.seen.append(int(x.ravel()[0]))
            for number in range(3):
                sender.send(reply(x * 10 + number))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
CALLING = cell("""
answer = ask("plain", request).exec()
if answer.has_error():
    error = pb_utils.TritonError(answer.error().message())
    return [pb_utils.InferenceResponse(error=error)]
return [reply(answer_of(answer))]
""")
MODELS = {
    "plain": (COUNTED % 1, f"{IO} {GROUP}"),
    "batched": (COUNTED % 1, f"max_batch_size: 8 dynamic_batching {{}} {IO} {GROUP}"),
    "calling": (CALLING, f"{IO} {GROUP}"),
    "streamed": (
        STREAMED,
        f"model_transaction_policy {{ decoupled: true }} {IO} {GROUP}",
    ),
}


class Churn:
    """Clients that send numbers, and threads that change the models."""

    def __init__(self, server: Server, count: int) -> None:
        self.server = server
        self.numbers = iter(range(1, count + 1))
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.answered: set[int] = set()
        self.refused: set[int] = set()
        self.wrong: list[str] = []
        self.changes = Counter[str]()

    def next(self) -> int:
        """Return the next number; 0 at the end."""
        with self.lock:
            return next(self.numbers, 0)

    def client(self, seed: int) -> None:
        """Send numbers until none is left."""
        rng = random.Random(seed)
        deadline = time.monotonic() + LONGEST_S
        while time.monotonic() < deadline and (number := self.next()):
            try:
                self.send(rng.choice(list(MODELS)), number)
            except BaseException as error:
                self.wrong.append(f"{number}: {error!r}")

    def send(self, name: str, number: int) -> None:
        """Send a number; record whether there was a response, which must be correct."""
        x = {"X": np.array([[number]] if name == "batched" else [number], np.int64)}
        try:
            if name == "streamed":
                found = [
                    int(each["Y"][0])
                    for each in checked(self.server.stream(name, x))
                    if each.outputs
                ]
                right = [[10 * number + part for part in range(3)]]
            else:
                found = self.server.infer(name, x)["Y"].ravel().tolist()
                right = [[10 * number + 1], [10 * number + 2]]
        except InferenceError as error:
            if not REFUSED.fullmatch(error.message):
                raise
            self.refused.add(number)
            return
        if found not in right:
            raise AssertionError(f"{name} answered {found}")
        self.answered.add(number)

    def changer(self, seed: int) -> None:
        """Load, unload and redefine models until all clients are done."""
        rng = random.Random(-seed)
        try:
            while not self.over.wait(rng.random() / 50):
                name = rng.choice(list(MODELS))
                change = rng.choice(("reload", "unload", "define"))
                with suppress(ModelLoadError):
                    self.change(name, change, rng)
                self.changes[change] += 1
        except BaseException as error:
            self.wrong.append(f"change: {error!r}")

    def change(self, name: str, change: str, rng: random.Random) -> None:
        """Change a model once."""
        if change == "define":
            source, config = MODELS[name]
            if source == COUNTED % 1:
                source = COUNTED % rng.choice((1, 2))
            self.server.define(name, source, config=config)
            return
        if change == "unload":
            self.server.unload(name)
        else:
            touch(self.server, name)
        self.server.load(name)

    def run(self) -> None:
        """Let all threads work until the clients are done."""
        clients = [
            threading.Thread(target=self.client, args=(seed,))
            for seed in range(CLIENTS)
        ]
        changers = [
            threading.Thread(target=self.changer, args=(seed,))
            for seed in range(1, CHANGERS + 1)
        ]
        for thread in (*clients, *changers):
            thread.start()
        for thread in clients:
            thread.join()
        self.over.set()
        for thread in changers:
            thread.join()


def checked(responses: Iterable[Response]) -> Iterator[Response]:
    """Yield responses; raise the error of one."""
    for each in responses:
        if each.error is not None:
            raise InferenceError(each.error)
        yield each


@pytest.mark.parametrize(
    "count",
    [
        1500,
        pytest.param(
            400_000, marks=[pytest.mark.slow, pytest.mark.timeout(2 * LONGEST_S)]
        ),
    ],
)
def test_each_request_is_executed_once(count, figures):
    """A completed request is executed once, a refused one never."""
    with Server(keep_runs=0, trace_level="timestamps") as server:
        for name, (source, config) in MODELS.items():
            server.define(name, source, config=config)
        churn = Churn(server, count)
        churn.run()
        executed = Counter(stage.seen)

    assert [] == churn.wrong[:5]
    assert churn.answered == set(executed)
    assert {1} == set(executed.values())
    figures(
        requests=len(churn.answered) + len(churn.refused),
        answered_once=len(churn.answered),
        refused=len(churn.refused),
        **{f"{name}_changes": made for name, made in churn.changes.items()},
    )
