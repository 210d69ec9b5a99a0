"""A reload never loses the last good version, nor a request."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stage
from asserting import every
from cells import CONFIG, DOUBLE, LIFE, TRIPLE, cell, instances, touch
from waiting import until

from blsnb.errors import ModelLoadError
from blsnb.parts.server_parts import parts_of

X = {"X": np.array([1, 2], np.float32)}


def test_the_new_copy_initialises_before_the_old_one_ends(server):
    """It replaces the old copy only when it is ready."""
    server.define("model", cell("pass", methods=LIFE.format(1)), config=CONFIG)
    server.define("model", cell("pass", methods=LIFE.format(2)), config=CONFIG)

    assert ["initialize 1", "initialize 2", "finalize 1"] == stage.seen


def test_a_failed_reload_finalizes_nothing_that_serves(server):
    """The old copy keeps its state."""
    count = "count = 0\n" + cell(
        "global count\ncount += 1\nreturn [reply(x_of(request) * count)]",
        methods=LIFE.format(1),
    )
    server.define("model", count, config=CONFIG)
    server.infer("model", X)

    with pytest.raises(ModelLoadError):
        server.define("model", "1 / 0")

    assert [2, 4] == server.infer("model", X)["Y"].tolist()
    assert ["initialize 1"] == stage.seen


def test_a_failing_second_instance_ends_the_first(server):
    """No instance of a model that does not load remains."""
    methods = """
def initialize(self, args):
    stage.seen.append(args["model_instance_name"])
    if args["model_instance_name"].endswith("_1"):
        raise ValueError("the second")

"""
    with pytest.raises(ModelLoadError, match="ValueError: the second"):
        server.define("model", cell("pass", methods=methods), config=instances(2))

    assert ["model_0_0", "model_0_1"] == stage.seen
    assert [] == server.index()


def test_a_request_in_flight_keeps_its_old_version(server):
    """It completes on the old copy, which is finalized afterwards."""
    slow = cell(
        """
        stage.events["busy"].set()
        stage.events["go on"].wait(60)
        return [reply(x_of(request) * 2)]
        """,
        methods=LIFE.format("old"),
    )
    server.define("model", slow, config=CONFIG)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(server.infer, "model", X)
        assert stage.events["busy"].wait(60)

        server.define("model", TRIPLE)
        assert [3, 6] == server.infer("model", X)["Y"].tolist()
        assert ["initialize old"] == stage.seen
        stage.events["go on"].set()

        assert [2, 4] == running.result(60)["Y"].tolist()
    assert ["initialize old", "finalize old"] == stage.seen


def test_requests_during_reloads_are_all_answered(server):
    """No request is lost between the old and the new copy."""
    server.define("model", DOUBLE, config=CONFIG)
    stop = threading.Event()
    answers: list[list[float]] = []
    failures: list[BaseException] = []

    def client() -> None:
        try:
            while not stop.is_set():
                answers.append(server.infer("model", X)["Y"].tolist())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=client) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        touch(server, "model")
        server.load("model")
    stop.set()
    for thread in threads:
        thread.join(60)

    assert [] == failures
    assert {(2, 4)} == {tuple(answer) for answer in answers}


def test_models_are_defined_from_several_threads(server):
    """All models are complete in the end."""

    def define(number: int) -> str:
        body = f"return [reply(x_of(request) * {number})]"
        return server.define(f"model{number}", cell(body), config=CONFIG).state

    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(define, range(8)))

    assert ["READY"] * 8 == states
    assert [[n, 2 * n] for n in range(8)] == [
        server.infer(f"model{n}", X)["Y"].tolist() for n in range(8)
    ]


def test_one_model_defined_from_several_threads_stays_whole(server):
    """With valid and invalid cells at once, the file on disk is what serves."""
    server.define("model", DOUBLE, config=CONFIG)

    def define(number: int) -> bool:
        body = "1 / 0\n" if number % 2 else ""
        source = body + cell(f"return [reply(x_of(request) * {number})]")
        try:
            server.define("model", source)
        except ModelLoadError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        good = list(pool.map(define, range(8)))

    assert [number % 2 == 0 for number in range(8)] == good
    served = server.infer("model", X)["Y"].tolist()
    server.load("model")
    assert served == server.infer("model", X)["Y"].tolist()


def test_a_load_never_meets_half_a_definition(server):
    """Threads load a model while it is defined; configuration and source fit."""
    rounds, loaders = 60, 3

    def define(number):
        outputs = cell(f"return [reply(x_of(request) * {number})]").replace(
            '"Y"', f'"Y{number % 2}"'
        )
        config = CONFIG.replace('"Y"', f'"Y{number % 2}"')
        beside = 'pathlib.Path(__file__).with_name("number").read_text()'
        source = f"import pathlib\nassert {number} == int({beside})\n{outputs}"
        files = {"number": str(number)}
        server.define("model", source, config=config, files=files)

    define(1)
    over = threading.Event()

    def load():
        count = 0
        while not over.is_set():
            server.load("model")
            touch(server, "model")
            run = server.infer("model", X)
            ((name, values),) = run.outputs.items()
            assert int(name[1:]) == int(values[0]) % 2
            count += 1
        return count

    with ThreadPoolExecutor(loaders) as pool:
        loads = [pool.submit(load) for _ in range(loaders)]
        for number in range(2, rounds):
            define(number)
        over.set()
        assert every(each.result() for each in loads)
    assert rounds - 1 == server.infer("model", X).outputs["Y1"][0]


SENDER_ON_A_THREAD = """
sender, y = request.get_response_sender(), x_of(request)

def send():
    stage.go.wait(60)
    sender.send(reply(y), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

self.thread = threading.Thread(target=send)
self.thread.start()
stage.begun.set()
"""
JOINING = """
def finalize(self):
    stage.seen.append("finalized")
    stage.go.set()
    self.thread.join()

"""


@pytest.fixture
def streaming(server):
    """Return a stream whose model answers on its own thread after ``stage.go``."""
    stage.begun, stage.go = threading.Event(), threading.Event()
    config = CONFIG + " model_transaction_policy { decoupled: true }"
    source = cell(SENDER_ON_A_THREAD, methods=JOINING)
    server.define("model", source, config=config)
    stream = server.stream("model", X)
    assert stage.begun.wait(60)
    yield stream
    stage.go.set()


def test_a_stream_completes_before_its_old_copy_is_finalized(server, streaming):
    """``finalize`` runs on another thread than the sender, which it may join."""
    server.define("model", DOUBLE, config=CONFIG)
    assert [] == stage.seen

    stage.go.set()
    assert [[1, 2]] == [response["Y"].tolist() for response in streaming]

    assert until(lambda: ["finalized"] == stage.seen)


def test_a_closing_server_finalizes_old_copies_that_still_stream(server, streaming):
    """It waits no longer than its timeout."""
    server.define("model", DOUBLE, config=CONFIG)
    parts_of(server).lifetime.exit_timeout_s = 0.0

    server.close()

    assert ["finalized"] == stage.seen


@pytest.mark.parametrize("policy", ["", "model_transaction_policy { decoupled: true }"])
def test_an_old_copy_that_answers_later_is_finalized(server, policy):
    """It is unloaded while it executes, and answers after that."""
    execute = f"{SENDER_ON_A_THREAD}\nstage.returns.wait(60)"
    stage.begun, stage.go = threading.Event(), threading.Event()
    stage.returns = threading.Event()
    config = f"{CONFIG} {policy}"
    server.define("model", cell(execute, methods=JOINING), config=config)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: [*server.stream("model", X)])
        assert stage.begun.wait(60)
        version = parts_of(server).engine.catalog.versions("model")[1]
        server.unload("model")

        stage.returns.set()
        [instance] = version.pool.instances
        assert until(lambda: instance.execution is None)
        assert [] == stage.seen
        stage.go.set()

        [response] = running.result(60)
    assert [1, 2] == response["Y"].tolist()
    assert until(lambda: ["finalized"] == stage.seen)
