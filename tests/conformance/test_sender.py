"""The response sender: refusals, and its use without decoupling."""

import pytest

from .asking import ask, forever_s, run, script, texts, would_hang
from .covering import rows

SENDER = "sender = request.get_response_sender()\n"
UNANSWERED = (
    "a request whose `execute` returned no response, or sent no final flag, is never "
    "answered"
)

CHECKS = {
    "flag 2": "sender.send(r, 2)",
    "flag 3, nothing": "sender.send(flags=3)",
    "largest flag": "sender.send(r, 2**32 - 1)",
    "beyond": "sender.send(r, 2**32)",
    "negative": "sender.send(r, -1)",
    "flag None": "sender.send(r, None)",
    "flag False": "sender.send(None, False)",
    "nothing": "sender.send()",
    "None": "sender.send(None, 0)",
    "a text": 'sender.send("r")',
    "a list": "sender.send([r])",
    "constructed": "made.send(r)",
    "constructed, flag only": "made.send(flags=FINAL)",
    "constructed, nothing": "made.send()",
    "constructed, flag 2": "made.send(r, 2)",
    "its class": "repr(type(sender))",
}
MADE = SENDER + 'r, made = answer("r"), bls("").get_response_sender()\n'


@rows(
    {
        "flag 2": "8/flags-not-0-or-1-true",
        "negative": "8/flags-not-0-or-1-true",
        "nothing": "8/flags-0-and-no-response",
        "constructed": ("8/sender-of-a-constructed-request", "4.2/get_response_sender"),
    }
)
@pytest.mark.parametrize("code", CHECKS.values(), ids=CHECKS)
def test_a_sender_checks(agree, code):
    """Flags come first, then the response, then the request."""
    text = f"{MADE}trial(lambda: {code})\nreturned = [told()]"

    def case(target):
        target.load("script")
        return target.infer(script(text))

    agree(case)


SENT = {
    "with the flag, returns None": "sender.send(r, FINAL)",
    "with the flag, returns [None]": "sender.send(r, FINAL); returned = [None]",
    "the flag later": "sender.send(r); sender.send(flags=FINAL)",
    "the flag after execute": """
sender.send(r)
def later():
    pause(0.05)
    sender.send(flags=FINAL)
threading.Thread(target=later).start()
""",
    "from a thread, after execute": """
def later():
    pause(0.05)
    sender.send(r, FINAL)
threading.Thread(target=later).start()
returned = [None]
""",
    "an error with the flag": """
sender.send(failure("no", pb_utils.TritonError.NOT_FOUND), FINAL)
""",
    "an error, the flag later": """
sender.send(failure("no", pb_utils.TritonError.CANCELLED)); sender.send(flags=FINAL)
""",
    "an output that nobody asked for": """
extra = pb_utils.Tensor("EXTRA", np.array(["x"], dtype=object))
r = pb_utils.InferenceResponse([*r.output_tensors(), extra])
sender.send(r, FINAL)
""",
    "raise, nothing sent": 'raise ValueError("boom")',
    "only asked for": "returned = [r]",
    "no final, then a response": "sender.send(r); returned = [r]",
    "no final, then raise": 'sender.send(r); raise ValueError("boom")',
    "async, sent": """
async def main():
    await asyncio.sleep(0)
    sender.send(r, FINAL)
returned = main()
""",
    "async, returned": """
async def main():
    await asyncio.sleep(0)
    return [r]
returned = main()
""",
    "async, a task sends later": """
async def later():
    await asyncio.sleep(0.02)
    sender.send(r, FINAL)
async def main():
    kept["task"] = asyncio.create_task(later())
returned = main()
""",
    "async, no final, then raise": """
async def main():
    sender.send(r)
    raise ValueError("boom")
returned = main()
""",
}


@rows(
    {
        "with the flag, returns None": (
            "8/send-resp-final-return-none-or",
            "16.2/none",
        ),
        "with the flag, returns [None]": (
            "8/send-resp-final-return-none-or",
            "16.2/list-with-none-elements",
        ),
        "the flag later": "8/send-resp-later-send-flags-final",
        "the flag after execute": "8/send-resp-later-send-flags-final",
        "from a thread, after execute": "8/send-from-a-thread-after-execute",
        "no final, then a response": "8/send-resp-no-final-then-return",
        "no final, then raise": "8/send-resp-no-final-then-return",
        "async, returned": "17/return-value",
    }
)
@pytest.mark.parametrize("code", SENT.values(), ids=SENT)
def test_a_model_that_is_not_decoupled_may_send(agree, code):
    """It sends one response with the final flag, from any thread."""

    def case(target):
        target.load("script")
        text = SENDER + 'r = answer("r")\n' + code
        return [target.infer(script(text)), target.infer(script("returned=[answer()]"))]

    agree(case)


REFUSED = {
    "an error, then a response": """
sender.send(failure("no"))
trial(lambda: sender.send(r, FINAL))
kept["told"] = told()
sender.send(flags=FINAL)
""",
    "a second response": """
sender.send(r)
trial(lambda: sender.send(r))
trial(lambda: sender.send(r, FINAL))
kept["told"] = told()
sender.send(flags=FINAL)
""",
    "after the flag": """
sender.send(r, FINAL)
trial(lambda: sender.send(r))
trial(lambda: sender.send(r, FINAL))
trial(lambda: sender.send(flags=FINAL))
trial(lambda: sender.send())
trial(lambda: sender.send(flags=2))
kept["told"] = told()
""",
    "a flag first": """
trial(lambda: sender.send(flags=FINAL))
trial(lambda: sender.send(flags=FINAL))
kept["told"] = told()
sender.send(r, FINAL)
""",
}


@rows(
    {
        "a second response": "8/non-decoupled-response-given-something-was",
        "a flag first": "8/non-decoupled-flag-only-nothing-sent",
        "after the flag": "8/final-flag-already-sent",
    }
)
@pytest.mark.parametrize("code", REFUSED.values(), ids=REFUSED)
def test_a_sender_refuses(agree, code):
    """Refused calls change nothing."""
    after = 'returned = [kept.pop("told")]'

    def case(target):
        target.load("script")
        text = SENDER + 'r = answer("r")\n' + code
        return [target.infer(script(text)), target.infer(script(after))]

    agree(case)


STREAMED = {
    "the flag later": "sender.send(r); sender.send(flags=FINAL)",
    "with the flag": "sender.send(r, FINAL)",
    "an error, the flag later": 'sender.send(failure("no")); sender.send(flags=FINAL)',
    "an error with the flag": 'sender.send(failure("no"), FINAL)',
}


@pytest.mark.parametrize("code", STREAMED.values(), ids=STREAMED)
def test_a_stream_tells_how_it_was_sent(agree, code):
    """A response without the flag is not final, and none follows it."""

    def case(target):
        target.load("script")
        text = SENDER + 'r = answer("r")\n' + code
        return [target.stream(script(text, told=told)) for told in (True, False)]

    agree(case)


FOLLOWED = {
    "raise": 'sender.send(r); raise ValueError("boom")',
    "a response": "sender.send(r); returned = [r]",
    "no list": "sender.send(r); returned = 5",
    "async, raise": """
async def main():
    sender.send(r)
    raise ValueError("boom")
returned = main()
""",
}


@pytest.mark.parametrize("code", FOLLOWED.values(), ids=FOLLOWED)
def test_a_stream_gets_the_response_that_a_failure_follows(agree, code):
    """It was sent without the flag; the second response is not delivered."""

    def case(target):
        target.load("script")
        return target.stream(script(f'{SENDER}r = answer("r")\n{code}'))

    agree(case)


@pytest.mark.parametrize("code", FOLLOWED.values(), ids=FOLLOWED)
def test_a_model_gets_the_response_that_a_failure_follows(agree, code):
    """The real server may end afterwards."""
    child = f'{SENDER}r = answer("r")\n{code}'
    text = f"""
code = pb_utils.Tensor("CODE", np.array([{child!r}], dtype=object))
see(bls("script", ["OUT"], code))
"""

    agree(lambda target: target.at_risk(lambda each: run(each, text, "script")))


CLOSED = """
sender.send(r)
sender.send(r, FINAL)
trial(lambda: sender.send(r))
trial(lambda: sender.send(r, FINAL))
trial(lambda: sender.send(flags=FINAL))
trial(lambda: sender.send())
trial(lambda: sender.send(flags=2))
kept["told"] = told()
"""


@rows("8/final-flag-already-sent")
def test_a_decoupled_sender_refuses(agree):
    """After the final flag it is closed for responses and flags."""
    after = SENDER + 'sender.send(kept.pop("told"), FINAL)'

    def case(target):
        target.load("script_decoupled")
        text = SENDER + 'r = answer("r")\n' + CLOSED
        return [
            target.stream(script(each, "script_decoupled", told=True))
            for each in (text, after)
        ]

    agree(case)


HANGING = {
    "None": "returned = None",
    "[None]": "returned = [None]",
    "never final": "sender.send(r)",
    "an error, never final": 'sender.send(failure("no"))',
    "a thread that forgets": """
def later(sender):
    pause(0.05)
    sender.send(r)
threading.Thread(target=later, args=[sender]).start()
""",
    "async, None": """
async def main():
    await asyncio.sleep(0)
returned = main()
""",
}


@rows(
    {
        "None": "16.2/none",
        "[None]": "16.2/list-with-none-elements",
        "never final": "8/send-resp-and-never-final",
        "an error, never final": "8/error-response-with-flags-0-and",
        "async, None": "17/return-value",
    }
)
@pytest.mark.parametrize("code", HANGING.values(), ids=HANGING)
def test_an_answer_that_never_comes(agree, code):
    """Triton's client waits indefinitely; blsnb names the owner of the response."""

    def case(target):
        target.load("script")
        text = SENDER + 'r = answer("r")\n' + code
        return [target.infer(script(text, deadline_s=forever_s(target)))]

    agree(case, deviates=UNANSWERED, ours=would_hang)


@rows("17/scheduling")
def test_async_executes_of_an_ordinary_model_are_serialized(agree):
    """The second coroutine begins when the first has ended."""
    code = """
    async def main():
        order = kept.setdefault("order", [])
        order.append("begin")
        await asyncio.sleep(0.05)
        order.append("end")
        return [answer(*order)]
    returned = main()
    """

    def case(target):
        target.load("script")
        target.infer(script("kept.clear(); returned = [answer()]"))
        answers = target.infer_together([script(code)] * 3)
        return sorted((each.plain() for each in answers), key=str)

    agree(case)


@pytest.mark.parametrize("how", ["error_CANCELLED"])
def test_a_model_may_answer_that_it_was_cancelled(agree, how):
    """The code arrives as its status."""
    agree(lambda target: ask(target, "failing", HOW=texts(how)))


@rows("16.2/generator-function-using-yield")
def test_a_generator_is_no_answer(agree):
    """Up to Python 3.11 asyncio accepts it as a coroutine, and reports the fault."""
    code = """
    def answers():
        yield answer("r")
    returned = answers()
    """

    def case(target):
        target.load("script")
        return target.infer(script(code))

    agree(case, python_speaks=True)


FINISHED = {
    "raise": 'raise ValueError("boom")',
    "a response": 'returned = [answer("another")]',
    "two responses": 'returned = [answer("another")] * 2',
    "no list": "returned = 1",
}


@pytest.mark.parametrize("code", FINISHED.values(), ids=FINISHED)
def test_ours_after_the_final_flag(blsnb, code):
    """On Triton it may end the server; blsnb ignores it."""
    blsnb.load("script")
    sent = f"{SENDER}sender.send(answer('sent'), FINAL)\n{code}"
    answers = [blsnb.infer(script(text)) for text in (sent, "returned = [answer()]")]

    assert [["sent"], []] == [each.outputs["OUT"].plain() for each in answers]
