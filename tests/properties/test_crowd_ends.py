"""Crowds that end badly: circles of models, and a server that is closed."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from faulthandler import dump_traceback

import numpy as np
import pytest
import stage
from cells import CONFIG, cell, instances

from blsnb import Server, WouldHang
from blsnb.errors import ServerClosedError

from .test_crowd import CLIENTS, Crowd, Wrong, eventually, settled

PATIENCE_S = 120.0
TURNS = cell(
    """
    x = x_of(request)
    if x[0] <= 0:
        return [reply(x)]
    smaller = pb_utils.InferenceRequest(
        model_name="OTHER", inputs=[pb_utils.Tensor("X", x - 1)],
        requested_output_names=["Y"],
    )
    return [reply(answer_of(smaller.exec()) + 2)]
    """
)


def together(work: Callable[[int], None], count: int) -> None:
    """Do some work on many threads, and wait for all within a deadline."""
    threads = [
        threading.Thread(target=work, args=(number,), daemon=True)
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        dump_traceback(sys.__stderr__)
        pytest.fail("somebody waits for ever: see the stacks")


@pytest.mark.parametrize("count", [1, 2])
def test_a_crowd_runs_into_circles(server, count):
    """Each request completes or ends with WouldHang; then the server continues."""
    for name, other in (("ping", "pong"), ("pong", "ping")):
        config = instances(count) if count > 1 else CONFIG
        server.define(name, TURNS.replace("OTHER", other), config=config)
    told: Counter[str] = Counter()
    wrong: list[str] = []

    def ask(number: int) -> None:
        chance = random.Random(number)
        for _ in range(12):
            name, depth = chance.choice(["ping", "pong"]), chance.randint(0, 4)
            x = np.array([depth], np.float32)
            try:
                found = server.infer(name, {"X": x})["Y"].tolist()
            except WouldHang:
                told["would hang"] += 1
                continue
            except BaseException as error:
                wrong.append(repr(error))
                continue
            told["right"] += 1
            if found != [2 * depth]:
                wrong.append(f"{found} for {depth}")

    together(ask, 16)
    assert [] == wrong[:3]
    assert told["right"] > 0 < told["would hang"]
    assert [] == eventually(lambda: list(settled(server)))
    assert [0] == server.infer("ping", {"X": np.zeros(1, np.float32)})["Y"].tolist()


@pytest.mark.parametrize("seed", range(2))
def test_a_server_is_closed_while_a_crowd_sends_requests(seed):
    """Requests in flight complete; later ones are refused."""
    server = Server(keep_runs=0)
    crowd = Crowd(server, seed, 0)
    began = threading.Barrier(CLIENTS + 1)
    refused = threading.Semaphore(0)

    def ask(number: int) -> None:
        if number == CLIENTS:
            began.wait(60)
            eventually(lambda: ["too few"] if crowd.told["right"] < CLIENTS else [])
            server.close()
            return
        chance = random.Random(f"{seed} {number}")
        began.wait(60)
        while True:
            try:
                crowd.ask(chance.choice(crowd.members), chance)
            except ServerClosedError:
                refused.release()
                return
            except Wrong as wrong:
                if "Server is stopping" not in str(wrong):
                    crowd.wrong.append(repr(wrong))
                    return
            except BaseException as error:
                crowd.wrong.append(repr(error))
                return

    together(ask, CLIENTS + 1)
    assert [] == crowd.wrong[:3]
    assert all(refused.acquire(blocking=False) for _ in range(CLIENTS))
    assert stage.values["initialized"] == stage.values["finalized"]
