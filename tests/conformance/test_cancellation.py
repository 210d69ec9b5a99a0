"""What a model sees of a client that no longer wants the answer."""

import pytest

from .asking import run, script
from .covering import rows

SENDER = "sender = request.get_response_sender()\n"
UNTIL_CANCELLED = """
deadline = time.monotonic() + 5
while not request.is_cancelled() and time.monotonic() < deadline:
    pause(0.01)
kept["saw"] = [request.is_cancelled(), sender.is_cancelled(), request.is_cancelled()]
"""
SAW = 'see(kept.pop("saw")); returned = [told()]'
SAW_DECOUPLED = f"{SENDER}see(kept.pop('saw')); sender.send(told(), FINAL)"


@rows("4.2/is_cancelled")
@pytest.mark.parametrize("model", ["script", "script_decoupled"])
def test_nobody_cancelled(agree, model):
    """Both questions say no, before and after a response."""
    code = f"""{SENDER}
see(request.is_cancelled(), sender.is_cancelled())
sender.send(told(), FINAL)
"""

    def case(target):
        target.load(model)
        return target.stream(script(code, model))

    agree(case)


ENDS = {
    "polled": UNTIL_CANCELLED,
    "answers CANCELLED": UNTIL_CANCELLED
    + 'returned = [failure("gave up", pb_utils.TritonError.CANCELLED)]',
    "answers as if nothing were": UNTIL_CANCELLED + 'returned = [answer("too late")]',
    "raises": UNTIL_CANCELLED + 'raise ValueError("too late")',
    "async": """
async def main():
    for _ in range(500):
        if request.is_cancelled():
            break
        await asyncio.sleep(0.01)
    kept["saw"] = [request.is_cancelled(), sender.is_cancelled()]
    return [answer("too late")]
returned = main()
""",
}


@rows("4.2/is_cancelled")
@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_a_deadline_is_seen_and_interrupts_nothing(agree, code):
    """The client gets its own error; the model sees True, and serves on."""
    if "returned" not in code and "raise" not in code:
        code += 'returned = [answer("")]'

    def case(target):
        target.load("script")
        late = target.infer(script(SENDER + code, deadline_s=0.4))
        return [late, target.infer(script(SAW))]

    agree(case)


@pytest.mark.parametrize("code", [UNTIL_CANCELLED], ids=["polled"])
def test_a_cancelled_stream_is_seen(agree, code):
    """A client that cancels after the first response turns both questions true."""
    text = f'{SENDER}sender.send(answer("first"))\n{code}\nsender.send(flags=FINAL)'

    def case(target):
        target.load("script_decoupled")
        request = script(text, "script_decoupled")
        first = target.stream(request, cancel_after=1)
        return [first, target.stream(script(SAW_DECOUPLED, "script_decoupled"))]

    agree(case)


def test_a_calls_own_caller_is_not_cancelled_with_it(agree):
    """A client's deadline does not reach the BLS requests that it caused."""
    inner = """
returned = [answer(str(request.is_cancelled()))]
pause(0.5)
returned.append(answer(str(request.is_cancelled())))
returned = [answer(*(text for r in returned for text in
                     r.output_tensors()[0].as_numpy()))]
"""
    outer = f"""{SENDER}
response = bls({inner!r}, "script").exec()
kept["saw"] = [repr(response.output_tensors()[0].as_numpy().tolist()),
               request.is_cancelled()]
sender.send(flags=FINAL)
"""

    def case(target):
        target.load("script")
        target.load("script_decoupled")
        late = target.stream(script(outer, "script_decoupled", deadline_s=0.25))
        return [late, target.stream(script(SAW_DECOUPLED, "script_decoupled"))]

    agree(case)


def test_a_cancelled_request_in_the_queue_is_executed(agree):
    """Without a dynamic batcher nothing takes it out of the queue."""
    busy = 'pause(0.6); kept["saw"] = []; returned = [answer("busy")]'
    queued = 'kept["saw"].append(request.is_cancelled()); returned = [answer("")]'

    def case(target):
        target.load("script")
        requests = [script(busy), script(queued, deadline_s=0.3)]
        return [target.infer_together(requests)[0], target.infer(script(SAW))]

    agree(case)


MADE = {
    "a timeout is a number": """
        request = pb_utils.InferenceRequest(model_name="script",
            requested_output_names=[], timeout=1, inputs=[pb_utils.Tensor("CODE",
            np.array(["pause(0.05); returned = [answer(str(request.timeout()))]"],
            dtype=object))])
        see(request.exec())
        """,
}


@pytest.mark.parametrize("code", MADE.values(), ids=MADE)
def test_a_running_request_is_never_timed_out(agree, code):
    """`timeout` is just visible to the target."""
    agree(lambda target: run(target, code, "script"))


def test_ours_of_a_constructed_request(blsnb):
    """On Triton both questions end the server; blsnb answers no."""
    code = """
    made = bls("")
    see(made.is_cancelled(), made.get_response_sender().is_cancelled())
    returned = [told()]
    """
    blsnb.load("script")
    answer = blsnb.infer(script(code)).outputs["OUT"]

    assert ["[[false, false]]"] == answer.plain()
