"""Instances come and go while their model serves, and nothing else of it changes."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stage
from cells import CONFIG, cell, instances
from waiting import until

from blsnb import Server
from blsnb.parts.server_parts import parts_of
from blsnb.repository.directory import newest_ns
from engine import clients

X = {"X": np.array([1, 2], np.float32)}
TELLING = """
def initialize(self, args):
    self.name = args["model_instance_name"]
    stage.seen.append(f"initialize {self.name}")

def finalize(self):
    stage.seen.append(f"finalize {self.name}")

"""
DOUBLE = cell("return [reply(x_of(request) * 2)]", methods=TELLING)
HELD = cell(
    """
    if x_of(request)[0] == 0:
        stage.events["busy"].set()
        stage.events["go on"].wait(60)
    return [reply(x_of(request) * 2)]
    """,
    methods=TELLING,
)
HOLD = {"X": np.zeros(2, np.float32)}


def change(server: Server, config: str) -> None:
    """Change a model's configuration and load it."""
    folder = parts_of(server).repository.directory("model")
    later_ns = newest_ns(folder.files()) + 1_000_000_000
    folder.config_file.write_text(config)
    os.utime(folder.config_file, ns=(later_ns, later_ns))
    server.load("model")


def test_an_added_instance_serves_waiting_requests(server):
    """It serves at once, while the other one is still busy."""
    server.define("model", HELD, config=CONFIG)
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(server.infer, "model", HOLD)
        assert stage.events["busy"].wait(60)
        waiting = pool.submit(server.infer, "model", X)

        change(server, instances(2))

        assert [2, 4] == waiting.result(60)["Y"].tolist()
        assert not held.done()
        stage.events["go on"].set()
        assert [0, 0] == held.result(60)["Y"].tolist()
    assert ["initialize model_0", "initialize model_0_1"] == stage.seen


def test_a_removed_busy_instance_completes_its_request(server):
    """The load does not wait for it, and the other instance serves."""
    server.define("model", HELD, config=instances(2))
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(server.infer, "model", HOLD)
        assert stage.events["busy"].wait(60)

        # Of two the last one stays: the first is the one that is busy.
        change(server, instances(1))

        assert ["initialize model_0_0", "initialize model_0_1"] == stage.seen
        assert [2, 4] == server.infer("model", X)["Y"].tolist()
        stage.events["go on"].set()
        assert [0, 0] == held.result(60)["Y"].tolist()
    assert "finalize model_0_0" == stage.seen[-1]
    assert [2, 4] == server.infer("model", X)["Y"].tolist()


BATCHED = "max_batch_size: 4 dynamic_batching {}"


def test_the_batcher_uses_added_instances(server):
    """A new instance executes requests that waited for the only one."""
    server.define(
        "model", HELD.replace("[0] == 0", "[0][0] == 0"), config=instances(1) + BATCHED
    )
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(server.infer, "model", {"X": np.zeros((1, 2), np.float32)})
        assert stage.events["busy"].wait(60)
        waiting = pool.submit(server.infer, "model", {"X": np.ones((1, 2), np.float32)})

        change(server, instances(2) + BATCHED)

        assert [[2, 2]] == waiting.result(60)["Y"].tolist()
        stage.events["go on"].set()
        assert [[0, 0]] == held.result(60)["Y"].tolist()


WARM = """
model_warmup { name: "w" batch_size: 1 inputs { key: "X"
    value { data_type: TYPE_FP32 dims: [ 2 ] zero_data: true } } }
"""


def test_a_new_instance_is_warmed_up(server):
    """It is warmed up before it serves; the others are not warmed up again."""
    counting = cell(
        "stage.seen.append(self.name)\nreturn [reply(x_of(request))]", methods=TELLING
    )
    server.define("model", counting, config=instances(1) + WARM)
    del stage.seen[:]

    change(server, instances(2) + WARM)

    assert ["initialize model_0_1", "model_0_1"] == stage.seen


@pytest.mark.parametrize(
    ("settings", "more"),
    [({}, "sequence_batching {}"), ({"rate_limit": "execution_count"}, "")],
    ids=["sequences", "limited rates"],
)
def test_sequence_models_are_reloaded(settings, more):
    """Their scheduler has slots for each instance."""
    with Server(**settings) as server:
        server.define("model", DOUBLE, config=instances(1) + more)
        change(server, instances(2) + more)

        names = ["model_0_0", "model_0_0", "model_0_1"]
        assert [f"initialize {name}" for name in names] == stage.seen[:3]


def test_the_served_configuration_has_the_new_instances(server):
    """The configuration of initialize() does not."""
    server.define("model", DOUBLE, config=CONFIG)
    change(server, instances(2))

    (group,) = server.config("model")["instance_group"]
    assert ("model_0", 2) == (group["name"], group["count"])
    server.infer("model", X)
    before = server.statistics("model")["model_stats"][0]["inference_count"]
    change(server, instances(3))
    after = server.statistics("model")["model_stats"][0]["inference_count"]
    assert (1, 1) == (before, after)


NUMBERED = cell(
    """
    if x_of(request)[0][0] == 0:
        stage.barriers["busy"].wait(60)
        stage.events["go on"].wait(60)
    stage.seen.append([each[0][0] for each in map(x_of, requests)])
    return [reply(x_of(each) * 2) for each in requests]
    """
)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1)], ids=["more", "fewer"])
def test_batches_formed_ahead_survive_a_change_of_instances(server, before, after):
    """Each waiting request is executed once."""
    server.define("model", NUMBERED, config=instances(before) + BATCHED)
    stage.barriers["busy"] = threading.Barrier(before + 1)
    numbers = range(1, 11)
    with ThreadPoolExecutor(before + len(numbers)) as pool:

        def ask(array):
            return pool.submit(server.infer, "model", {"X": array.astype(np.float32)})

        # Of another width each: none is batched with another.
        held = [ask(np.zeros((1, 1 + number))) for number in range(before)]
        stage.barriers["busy"].wait(60)
        waiting = [ask(np.full((1, 1), number)) for number in numbers]
        assert until(lambda: len(numbers) == clients.waiting(server))

        change(server, instances(after) + BATCHED)
        stage.events["go on"].set()

        assert [0] * before == [each.result(60)["Y"].max() for each in held]
        answers = [each.result(60)["Y"].item() for each in waiting]
    assert [2 * number for number in numbers] == answers
    executed = sorted(number for batch in stage.seen for number in batch)
    assert [0] * before + [*numbers] == executed
    assert [] == [batch for batch in stage.seen if len(batch) > 4]
