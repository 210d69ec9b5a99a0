"""Decoupled models as the client of a stream sees them."""

import pytest

from .asking import forever_s, script, would_hang
from .covering import rows

SENDER = "sender = request.get_response_sender()\n"

STREAMS = {
    "flag only": "sender.send(flags=FINAL)",
    "two, then the flag": """
sender.send(answer("r1"))
sender.send(answer("r2"))
sender.send(flags=FINAL)
""",
    "two, the flag with the last": """
sender.send(answer("r1"))
sender.send(answer("r2"), FINAL)
""",
    "one with the flag": 'sender.send(answer("r1"), flags=FINAL)',
    "a hundred": """
for number in range(100):
    sender.send(answer(str(number)))
sender.send(flags=FINAL)
""",
    "an error in mid-stream": """
sender.send(answer("r1"))
sender.send(failure("one went wrong", pb_utils.TritonError.NOT_FOUND))
sender.send(answer("r2"))
sender.send(flags=FINAL)
""",
    "an error first": """
sender.send(failure("the first went wrong"))
sender.send(answer("r2"), FINAL)
""",
    "an error with the flag": 'sender.send(failure("no"), FINAL)',
    "an error without text": 'sender.send(failure(""), FINAL)',
    "empty, no flag": """
sender.send(pb_utils.InferenceResponse())
sender.send(flags=FINAL)
""",
    "empty with the flag": "sender.send(pb_utils.InferenceResponse(), FINAL)",
    "raise before the flag": """
sender.send(answer("r1"))
raise ValueError("boom")
""",
    "raise at once": 'raise ValueError("boom")',
    "a response that nobody asked for": """
extra = pb_utils.Tensor("EXTRA", np.array(["x"], dtype=object))
sender.send(pb_utils.InferenceResponse([extra]), FINAL)
""",
    "True is the flag": 'sender.send(answer("r1"), True)',
    "one response twice": """
twice = answer("r1")
sender.send(twice)
sender.send(twice)
sender.send(flags=FINAL)
""",
    "from a thread, after execute": """
def later():
    pause(0.05)
    sender.send(answer("late"))
    sender.send(flags=FINAL)
threading.Thread(target=later).start()
""",
    "a new sender for each response": """
request.get_response_sender().send(answer("r1"))
request.get_response_sender().send(flags=FINAL)
see(request.get_response_sender() is sender)
""",
    "returns None itself": 'sender.send(answer("r1"), FINAL); returned = None',
}
RETURNED = {
    "a list": 'returned = [answer("returned")]',
    "an empty list": "returned = []",
    "False": "returned = False",
    "a list, after a response": 'sender.send(answer("r1")); returned = []',
}


def both_ways(target, code):
    """Return what clients with and without empty final responses receive."""
    target.load("script_decoupled")
    return [
        target.stream(script(SENDER + code, "script_decoupled", told=told))
        for told in (True, False)
    ]


@rows(
    {
        "flag only": "18/only-final-flag",
        "two, then the flag": "18/r1-r2-final-flag",
        "two, the flag with the last": "18/r1-r2-final",
        "an error in mid-stream": "18/error-response-flags-0-then-r2",
        "an error with the flag": "18/error-final",
        "empty, no flag": "18/inferenceresponse-flags-0",
        "raise before the flag": "18/raise-before-the-final-flag",
    }
)
@pytest.mark.parametrize("code", STREAMS.values(), ids=STREAMS)
def test_a_stream(agree, code):
    """Responses arrive in the order sent; the final flag only on request."""
    agree(lambda target: both_ways(target, code))


@pytest.mark.parametrize("code", RETURNED.values(), ids=RETURNED)
def test_execute_must_return_none(agree, code):
    """Another value ends the request with an error."""
    agree(lambda target: both_ways(target, code))


def test_a_model_that_is_not_decoupled_streams_too(agree):
    """It sends exactly one response, which is final."""

    def case(target):
        target.load("script")
        codes = ['returned = [answer("one")]', 'raise ValueError("boom")']
        return [
            target.stream(script(code, told=told))
            for code in codes
            for told in (True, False)
        ]

    agree(case)


def test_a_refused_request_is_one_error_on_its_stream(agree):
    """The text is that of an ordinary request, without a code."""

    def case(target):
        target.load("script_decoupled")
        good = script(SENDER + "sender.send(flags=FINAL)", "script_decoupled")
        return [
            target.stream(script("", "nope")),
            target.stream(script("", "script_decoupled", outputs=["NOPE"])),
            target.stream(good),
        ]

    agree(case)


@rows("r3.2/decoupled-model-through-grpc-modelinfer")
def test_unary_calls_do_not_take_decoupled_models(agree):
    """The plain call of gRPC refuses, whatever the model would send."""

    def case(target):
        target.load("script_decoupled")
        return target.infer(script("returned = 1", "script_decoupled"))

    agree(case)


AFTER_THE_FLAG = {
    "raise after the flag": 'sender.send(answer("r"), FINAL); raise ValueError("boom")',
    "return after the flag": 'sender.send(answer("r"), FINAL); returned = [1]',
}

HANGING = {
    "nothing, ever": "pass",
    "no final flag": 'sender.send(answer("r1"))',
    "a thread that forgets": """
def later():
    pause(0.05)
    sender.send(answer("r1"))
threading.Thread(target=later).start()
""",
    "an error without the flag": 'sender.send(failure("no"))',
    "async, raises": """
async def main():
    sender.send(answer("r1"))
    await asyncio.sleep(0)
    raise ValueError("only logged")
returned = main()
""",
    "async, no final flag": """
async def main():
    await asyncio.sleep(0.01)
    sender.send(answer("r1"))
returned = main()
""",
}
UNANSWERED = (
    "a request whose `execute` returned no response, or sent no final flag, is never "
    "answered"
)


@rows(
    {
        "nothing, ever": "18/nothing-ever",
        "async, raises": "17/exception",
    }
)
@pytest.mark.parametrize("code", HANGING.values(), ids=HANGING)
def test_a_stream_without_an_end(agree, code):
    """Blsnb reports the hang after the responses that Triton sends."""

    def case(target):
        target.load("script_decoupled")
        request = script(
            SENDER + code, "script_decoupled", told=True, deadline_s=forever_s(target)
        )
        return target.stream(request)

    agree(case, deviates=UNANSWERED, ours=would_hang)


ASYNC = {
    "two and the flag": """
async def main():
    for text in "ab":
        await asyncio.sleep(0.005)
        sender.send(answer(text))
    sender.send(flags=FINAL)
returned = main()
""",
    "what it returns is ignored": """
async def main():
    sender.send(answer("r1"), FINAL)
    return [answer("returned")]
returned = main()
""",
    "raises after the flag": """
async def main():
    sender.send(answer("r1"), FINAL)
    raise ValueError("only logged")
returned = main()
""",
    "a task goes on": """
async def later():
    await asyncio.sleep(0.02)
    sender.send(answer("later"), FINAL)
async def main():
    kept["task"] = asyncio.create_task(later())
    sender.send(answer("now"))
returned = main()
""",
    "calls another model": """
async def main():
    code = 'request.get_response_sender().send(answer("inner"), FINAL)'
    for response in await bls(code).async_exec(decoupled=True):
        sender.send(response)
    sender.send(flags=FINAL)
returned = main()
""",
    "an async generator is a wrong return": """
async def main():
    yield answer("r1")
returned = main()
""",
    "a future is a wrong return": """
import concurrent.futures
returned = concurrent.futures.Future()
""",
}


@rows(
    {
        "two and the flag": "17/scheduling",
        "what it returns is ignored": "17/return-value",
        "raises after the flag": "18/raise-after-the-final-flag",
    }
)
@pytest.mark.parametrize("code", ASYNC.values(), ids=ASYNC)
def test_an_async_execute_streams(agree, code):
    """A coroutine sends while others run; its return value has no effect."""
    agree(lambda target: both_ways(target, code))


@rows("17/scheduling")
def test_async_executes_of_a_decoupled_model_interleave(agree):
    """The second request is served while the first one waits for it."""
    code = """
    sender = request.get_response_sender()
    event = kept.setdefault("event", asyncio.Event())
    async def first():
        await asyncio.wait_for(event.wait(), 10)
        sender.send(answer("first"), FINAL)
    async def second():
        event.set()
        sender.send(answer("second"), FINAL)
    returned = {}()
    """

    def case(target):
        target.load("script_decoupled")
        requests = [
            script(code.format(name), "script_decoupled")
            for name in ("first", "second")
        ]
        together = target.stream_together(requests)
        target.stream(
            script(
                SENDER + "kept.clear(); sender.send(flags=FINAL)", "script_decoupled"
            )
        )
        return together

    agree(case)


@rows("18/raise-after-the-final-flag")
@pytest.mark.parametrize("code", AFTER_THE_FLAG.values(), ids=AFTER_THE_FLAG)
def test_what_was_sent_with_the_flag_stands(agree, code):
    """An exception or a result after the final flag has no effect for the client."""
    agree(lambda target: both_ways(target, code))
