"""What works here and ends the real server, or a model, has a note."""

from __future__ import annotations

import pytest
from cells import CONFIG, FINAL, cell

FROM_NUMPY = (
    "Tensor.from_dlpack() of a NumPy array ends the model's process on Triton 24.10. "
    "Use Tensor(name, array)."
)
MAY_END = (
    ": on Triton 24.10 the server may end here or at the next such call, also if this "
    "exception is caught. Make no call that is refused."
)
SHARED = (
    "async_exec() of one request was called again before it had ended, which ends the "
    "server on Triton 24.10. Make a request for each call."
)
MADE = 'made = ask("callee", request, trace=request.trace())\n'
SENT = f"""
sender = request.get_response_sender()
sender.send(reply(x_of(request)), {FINAL})
"""
COUNTER = """
family = pb_utils.MetricFamily("made", "", pb_utils.MetricFamily.COUNTER)
try:
    family.Metric(labels={}).set(1)
except pb_utils.TritonModelException:
    pass
"""
NOT_READY = """
try:
    pb_utils.is_model_ready("callee", "x")
except pb_utils.TritonModelException:
    pass
"""
NOTED = {
    "DLPack of NumPy": ("pb_utils.Tensor.from_dlpack('Y', x_of(request))", FROM_NUMPY),
    "its own request": (
        f"{MADE}made.is_cancelled()",
        "is_cancelled() of a request that a model has made ends the server on Triton "
        "24.10. Call it on the request that execute() received.",
    ),
    "a refused metric": (COUNTER, f"Failed to set metric value{MAY_END}"),
    "a version": (NOT_READY, f"Failed to check model readiness{MAY_END}"),
}
LATE = {
    "cancelled": (
        "sender.is_cancelled()",
        [
            "is_cancelled() of a response sender after the final flag may end the "
            "server on Triton 24.10. Call it before the flag is sent."
        ],
    ),
    "nothing else": ("", []),
}


def notes(server, lines, **form):
    """Return the notes of a request to a model."""
    server.define("callee", cell("return [reply(x_of(request))]"), config=CONFIG)
    server.define("m", cell(lines, **form), config=CONFIG)
    return list(server.infer("m", {"X": [1.0]}).trace.spans[0].notes)


@pytest.mark.parametrize(("lines", "note"), NOTED.values(), ids=NOTED)
def test_a_call_that_ends_the_server_is_noted(server, lines, note):
    """The model continues here."""
    assert [note] == notes(server, f"{lines}\nreturn [reply(x_of(request))]")


@pytest.mark.parametrize(("line", "noted"), LATE.values(), ids=LATE)
def test_a_sender_is_of_no_use_after_its_final_flag(server, line, noted):
    """Its state is freed on Triton."""
    assert noted == notes(server, f"{SENT}{line}\nreturn None")


def test_a_failure_after_the_final_flag_is_noted(server):
    """The client has the response; Triton only logs the failure, if it survives it."""
    (note,) = notes(server, f"{SENT}raise ValueError('boom')")

    assert note.startswith("After the final flag: Failed to process")
    assert "ValueError: boom" in note


def test_a_response_after_the_final_flag_is_noted(server):
    """Also if the model catches the exception."""
    again = """
try:
    sender.send(reply(x_of(request)))
except pb_utils.TritonModelException:
    return None
"""

    assert [
        "send() after the final flag may end the server on Triton 24.10, also if its "
        "exception is caught. Send nothing after the flag."
    ] == notes(server, f"{SENT}{again}")


@pytest.mark.parametrize(
    ("calls", "noted"),
    [
        ("await asyncio.gather(made.async_exec(), made.async_exec())", True),
        ("await made.async_exec()\nawait made.async_exec()", False),
        ("made.async_exec()\nother = ask('callee', request)\nother.exec()", False),
    ],
    ids=["at once", "one after the other", "two requests"],
)
def test_one_request_must_not_run_twice_at_once(server, calls, noted):
    """Each call needs a request of its own."""
    lines = f"import asyncio\n{MADE}{calls}\nreturn [reply(x_of(request))]"
    found = notes(server, lines, asynchronous=True)

    assert noted == (SHARED in found)


def test_a_note_of_initialize_is_that_of_the_next_call(server):
    """There is no call yet."""
    early = """
def initialize(self, args):
    pb_utils.Tensor.from_dlpack("Y", np.ones(1))
"""

    assert [FROM_NUMPY] == notes(server, "return [reply(x_of(request))]", methods=early)
