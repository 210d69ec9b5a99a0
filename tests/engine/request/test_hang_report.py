"""No wait without an end: what would hang on Triton, and what only looks like it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stage
from asserting import every
from cells import CONFIG, DOUBLE, OWN_THREAD, calling, cell, instances, line_of

from blsnb.errors import WouldHang
from blsnb.inference_server import Server

X = {"X": np.array([1, 2], np.float32)}


SWALLOW = """
    try:
        return [reply(answer_of(ask("{name}", request).exec()))]
    except:
        return [reply(x_of(request) * 0)]
"""


def doubles(server: Server, name: str = "double") -> bool:
    """Whether the server still responds correctly."""
    if name == "double":
        server.define("double", DOUBLE, config=CONFIG)
    return [2, 4] == server.infer(name, X)["Y"].tolist()


def test_a_self_call_with_one_instance_would_hang(server):
    """The error has the chain of calls, the line and the fix; Triton waits forever."""
    source = calling("me")
    server.define("me", source, config=CONFIG)

    with pytest.raises(WouldHang) as caught:
        server.infer("me", X)

    error = caught.value
    assert "a request to me waits (1 instance, all busy)" in error.message
    line = line_of(source, 'ask("me", request).exec()')
    assert f"me_0 waits in exec() of me at line {line}" in error.message
    assert "instances" in error.advice
    assert "Triton would wait here forever" in str(error)
    assert doubles(server)


def test_a_self_call_on_a_thread_of_the_instances_own_would_hang(server):
    """It is found with BLSNB_THREAD=instance, too."""
    server.define("me", calling("me"), config=OWN_THREAD)

    with pytest.raises(WouldHang):
        server.infer("me", X)

    assert doubles(server)


def test_a_self_call_of_a_coroutine_would_hang(server):
    """A synchronous exec() in a coroutine blocks the loop that would answer it."""
    body = 'return [reply(answer_of(ask("me", request).exec()))]'
    server.define("me", cell(body, asynchronous=True), config=CONFIG)

    with pytest.raises(WouldHang):
        server.infer("me", X)

    assert doubles(server)


def test_a_circle_of_models_would_hang(server):
    """The error names every call of the circle, each with its own line."""
    first, second = calling("second"), "# one line more\n" + calling("first")
    server.define("first", first, config=CONFIG)
    server.define("second", second, config=CONFIG)

    with pytest.raises(WouldHang) as caught:
        server.infer("first", X)

    line = line_of(first, ".exec()")
    assert [
        "  a request to first waits (1 instance, all busy)",
        f"  first_0 waits in exec() of second at line {line}",
        f"  second_0 waits in exec() of first at line {line + 1}",
    ] == caught.value.message.splitlines()[1:]
    assert doubles(server)


def test_the_run_of_a_hang_shows_how_far_it_got(server):
    """The error carries the run; its calls have ends and are marked."""
    server.define("me", calling("me"), config=CONFIG)

    with pytest.raises(WouldHang) as caught:
        server.infer("me", X)

    spans = caught.value.run.trace.spans
    assert [("me_0", -1), ("", 0)] == [(s.instance, s.parent) for s in spans]
    assert every(span.request_end_ns for span in spans)
    assert not caught.value.run.trace.running


@pytest.mark.parametrize("result", ["None", "[None]"])
def test_a_request_without_a_response_would_hang(server, result):
    """None is not a response, and nothing holds a response sender."""
    source = cell(f"return {result}")
    server.define("silent", source, config=CONFIG)

    with pytest.raises(WouldHang) as caught:
        server.infer("silent", X)

    assert "silent_0" in caught.value.message
    assert f"line {line_of(source, 'def execute')}" in caught.value.message
    assert "returned no response" in caught.value.message
    assert "one InferenceResponse for each request" in caught.value.advice
    assert doubles(server)


def test_a_response_without_the_final_flag_would_hang(server):
    """A sender that is dropped before the final flag leaves its caller waiting."""
    source = cell("request.get_response_sender().send(reply(x_of(request)))")
    server.define("unfinished", source, config=CONFIG)

    with pytest.raises(WouldHang) as caught:
        server.infer("unfinished", X)

    assert "sent a response but not the final flag" in caught.value.message
    assert "TRITONSERVER_RESPONSE_COMPLETE_FINAL" in caught.value.advice
    assert doubles(server)


def test_the_fix_of_a_hang_precedes_the_notes(server):
    """A misspelled hook is noted, but is not the reason."""
    methods = "def initialise(self, args):\n    pass\n\n"
    source = cell("request.get_response_sender()", methods=methods)
    policy = "model_transaction_policy { decoupled: true }"
    server.define("silent", source, config=f"{CONFIG} {policy}")
    with pytest.raises(WouldHang) as caught:
        list(server.stream("silent", X))

    first, *more = caught.value.advice.splitlines()
    assert "TRITONSERVER_RESPONSE_COMPLETE_FINAL" in first
    assert "it is not a hook" in more[0]


def test_a_sender_dropped_by_a_thread_would_hang(server):
    """The wait ends when the last thread with the sender drops it."""
    source = cell(
        """
        def forget(sender):
            stage.events["let go"].wait(60)

        threading.Thread(target=forget, args=[request.get_response_sender()]).start()
        """
    )
    server.define("forgetful", source, config=CONFIG)
    threading.Timer(0.3, stage.events["let go"].set).start()

    with pytest.raises(WouldHang):
        server.infer("forgetful", X)

    assert doubles(server)


def test_a_request_in_a_circle_of_references_would_hang(server):
    """A request that only the garbage collector can free is unreachable."""
    source = cell(
        """
        class Held:
            pass

        held = Held()
        held.sender = request.get_response_sender()
        held.itself = held
        """
    )
    server.define("circular", source, config=CONFIG)

    with pytest.raises(WouldHang):
        server.infer("circular", X)


def test_an_unanswered_callee_ends_the_whole_request(server):
    """Its caller never learns of it, so Triton would hang, too."""
    server.define("silent", cell("return None"), config=CONFIG)
    server.define("caller", cell(SWALLOW.format(name="silent")), config=CONFIG)

    with pytest.raises(WouldHang) as caught:
        server.infer("caller", X)

    assert "silent_0" in caught.value.message
    assert doubles(server)


def test_a_bare_except_cannot_hide_a_hang(server):
    """Even ``except:`` cannot turn the end of a request into a result."""
    server.define("me", cell(SWALLOW.format(name="me")), config=CONFIG)

    with pytest.raises(WouldHang):
        server.infer("me", X)

    assert doubles(server)


def test_the_model_serves_after_a_hang(server):
    """The instance that was unwound serves the next request."""
    source = cell(
        """
        if x_of(request)[0] < 0:
            ask("me", request).exec()
        return [reply(x_of(request) * 2)]
        """
    )
    server.define("me", source, config=CONFIG)

    with pytest.raises(WouldHang):
        server.infer("me", {"X": np.array([-1], np.float32)})

    assert doubles(server, "me")


def test_two_requests_that_wait_for_each_other_would_hang(server):
    """Two clients and two models each hold what the other needs."""
    stage.barriers["both"] = threading.Barrier(2)
    source = """
        if x_of(request)[0] == {number}:
            stage.barriers["both"].wait(60)
            return [reply(answer_of(ask("{other}", request).exec()))]
        return [reply(x_of(request) * 2)]
    """
    server.define("a", cell(source.format(number=1, other="b")), config=CONFIG)
    server.define("b", cell(source.format(number=2, other="a")), config=CONFIG)

    def client(name: str, number: int) -> str:
        try:
            run = server.infer(name, {"X": np.array([number], np.float32)})
        except WouldHang:
            return "would hang"
        return str(run["Y"].tolist())

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(client, ["a", "b"], [1, 2]))

    # Whoever closes the circle is ended; that frees the other.
    assert 1 == answers.count("would hang")
    assert {"[2.0]", "[4.0]"} & set(answers)
    assert doubles(server)


def test_a_self_call_deeper_than_its_instances_would_hang(server):
    """With two instances one self-call works; a second one would wait forever."""
    server.define("me", calling("me"), config=instances(2))

    with pytest.raises(WouldHang) as caught:
        server.infer("me", X)

    assert "a request to me waits (2 instances, all busy)" in caught.value.message
    assert doubles(server)
