"""What works here and ends the real server, or a model, has a note."""

from __future__ import annotations

import pytest
from cells import CONFIG, FINAL, cell

from blsnb.pb_utils import request, sender, tensor

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
    "DLPack of NumPy": (
        "pb_utils.Tensor.from_dlpack('Y', x_of(request))",
        "from_dlpack",
    ),
    "its own request": (f"{MADE}made.is_cancelled()", "is_cancelled() of a request"),
    "a refused metric": (COUNTER, "Failed to set metric value: on Triton 24.10"),
    "a version": (NOT_READY, "Failed to check model readiness: on Triton 24.10"),
}
LATE = {
    "cancelled": ("sender.is_cancelled()", [sender._LATE_IS_CANCELLED]),
    "nothing else": ("", []),
}


def notes(server, lines, **form):
    """Return the notes of a request to a model."""
    server.define("callee", cell("return [reply(x_of(request))]"), config=CONFIG)
    server.define("m", cell(lines, **form), config=CONFIG)
    return list(server.infer("m", {"X": [1.0]}).trace.spans[0].notes)


@pytest.mark.parametrize(("lines", "start"), NOTED.values(), ids=NOTED)
def test_a_call_that_ends_the_server_is_noted(server, lines, start):
    """The model continues here."""
    (note,) = notes(server, f"{lines}\nreturn [reply(x_of(request))]")

    assert start in note
    assert "24.10" in note


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

    assert [sender._LATE_SEND] == notes(server, f"{SENT}{again}")


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

    assert noted == (request._SHARED_REQUEST in found)


def test_a_note_of_initialize_is_that_of_the_next_call(server):
    """There is no call yet."""
    early = """
def initialize(self, args):
    pb_utils.Tensor.from_dlpack("Y", np.ones(1))
"""

    assert [tensor._FROM_NUMPY] == notes(
        server, "return [reply(x_of(request))]", methods=early
    )
