"""What a model sees of a client that has cancelled its request."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from waiting import until

from .asking import run, script
from .covering import rows
from .scripted import WAIT_S

SENDER = "sender = request.get_response_sender()\n"
UNTIL_CANCELLED = """
deadline = time.monotonic() + 60
while not request.is_cancelled() and time.monotonic() < deadline:
    pause(0.01)
kept["saw"] = [request.is_cancelled(), sender.is_cancelled(), request.is_cancelled()]
"""
SAW = 'see(kept.pop("saw")); returned = [told()]'
SAW_DECOUPLED = f"{SENDER}see(kept.pop('saw')); sender.send(told(), FINAL)"


@rows("4.2/is_cancelled")
@pytest.mark.parametrize("model", ["script", "script_decoupled"])
def test_nobody_cancelled(agree, model):
    """Both methods return false, before and after a response."""
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
    for _ in range(6000):
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
    """The client gets its own error; the model sees True, and continues to serve."""
    if "returned" not in code and "raise" not in code:
        code += 'returned = [answer("")]'

    def case(target):
        target.load("script")
        late = target.infer(script(SENDER + code, deadline_s=0.4))
        return [late, target.infer(script(SAW))]

    agree(case)


STREAMS = {
    "before the first": UNTIL_CANCELLED + "sender.send(flags=FINAL)",
    "between two": f"""
sender.send(answer("in time"))
{UNTIL_CANCELLED}
sender.send(answer("too late"))
sender.send(flags=FINAL)
""",
    "while execute returns": UNTIL_CANCELLED + 'sender.send(answer("too late"), FINAL)',
    "raises": UNTIL_CANCELLED + 'raise ValueError("too late")',
}


@rows("4.2/is_cancelled")
@pytest.mark.parametrize("code", STREAMS.values(), ids=STREAMS)
def test_a_deadline_ends_a_stream_for_its_client(agree, code):
    """Earlier responses are received; the model sees true, and stays ready."""

    def case(target):
        target.load("script_decoupled")
        late = target.stream(script(SENDER + code, "script_decoupled", deadline_s=0.4))
        return [late, target.stream(script(SAW_DECOUPLED, "script_decoupled"))]

    agree(case)


OWED = {
    "script": """
see(kept["owed"].is_cancelled())
kept.pop("owed").send(answer("too late"), FINAL)
returned = [told()]
""",
    "script_decoupled": f"""{SENDER}
see(kept["owed"].is_cancelled())
kept.pop("owed").send(flags=FINAL)
sender.send(told(), FINAL)
""",
}


@rows(
    "4.2/is_cancelled",
    {"script_decoupled": "18/nothing-ever", "script": "r3.4/returns-none-or-none"},
)
@pytest.mark.parametrize("model", OWED)
def test_a_deadline_ends_the_wait_for_what_is_never_sent(agree, model):
    """A kept sender is cancelled, and its response has no receiver."""
    code = 'kept["owed"] = request.get_response_sender()\n'
    if model == "script":
        code += "returned = [None]"

    def case(target):
        target.load(model)
        late = target.stream(script(code, model, deadline_s=0.3))
        return [late, target.stream(script(OWED[model], model))]

    agree(case)


def test_a_deadline_ends_the_wait_for_a_sender(agree):
    """The request is not a stream."""
    code = 'kept["owed"] = request.get_response_sender()\nreturned = [None]'

    def case(target):
        target.load("script")
        late = target.infer(script(code, deadline_s=0.3))
        return [late, target.infer(script(OWED["script"]))]

    agree(case)


HELD = """
import os
os.mkdir({held!r})
for _ in range(3000):
    if not os.path.exists({held!r}):
        break
    pause(0.01)
kept["saw"] = []
"""
"""A model is busy until a folder is removed again, or for half a minute."""
TOO_LATE = {
    "infer": ("script", 'returned = [answer("too late")]', SAW),
    "stream": ("script", 'returned = [answer("too late")]', SAW),
    "decoupled": ("script_decoupled", "", SAW_DECOUPLED),
}


@pytest.mark.parametrize("way", TOO_LATE)
def test_the_client_does_not_wait_for_the_model(agree, tmp_path, way):
    """It returns at its deadline; its next request waits for the instance."""
    model, end, after = TOO_LATE[way]

    def case(target):
        target.load(model)
        ask = target.infer if way == "infer" else target.stream
        held = tmp_path / f"held by {target.name} {time.monotonic_ns()}"
        code = HELD.format(held=str(held)) + end
        start = time.monotonic()
        late = ask(script(code, model, deadline_s=0.3))
        soon = time.monotonic() - start < 15
        until(held.exists)
        held.rmdir()
        return [late, soon, target.stream(script(after, model))]

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


def test_a_cancelled_request_in_the_queue_is_executed(agree, tmp_path):
    """Without a dynamic batcher it stays in the queue."""
    queued = 'kept["saw"].append(request.is_cancelled()); returned = [answer("")]'

    def case(target):
        target.load("script")
        held = tmp_path / f"held by {target.name} {time.monotonic_ns()}"
        code = f'{HELD.format(held=str(held))}returned = [answer("busy")]'
        with ThreadPoolExecutor(1) as pool:
            busy = pool.submit(target.infer, script(code))
            until(held.exists)
            target.infer(script(queued, deadline_s=0.3))
            held.rmdir()
            return [busy.result(WAIT_S), target.infer(script(SAW))]

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
    """On Triton both methods end the server; blsnb returns false."""
    code = """
    made = bls("")
    see(made.is_cancelled(), made.get_response_sender().is_cancelled())
    returned = [told()]
    """
    blsnb.load("script")
    answer = blsnb.infer(script(code)).outputs["OUT"]

    assert ["[[false, false]]"] == answer.plain()
