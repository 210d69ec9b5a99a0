"""Rescheduled requests: several executions for one response."""

import time

import pytest

from .asking import forever_s, script, texts, would_hang
from .covering import rows
from .targets import Request

CLEAR = """
kept.clear()
request.get_response_sender().send(answer(""), FINAL)
"""
FRESH = """
if request.flags():
    kept.clear()
"""
RUNS = """
sender = request.get_response_sender()
runs = kept.setdefault("runs", [])
runs.append([request.flags(), request.correlation_id(), request.request_id()])
again = len(runs) < 3
def show():
    see(*(flags for flags, _, _ in runs), len({tuple(run[1:]) for run in runs}))
    return told()
"""


def model_of(*, again=True, decoupled=False):
    """The name of the model that runs the texts."""
    return f"script{'_again' * again}{'_decoupled' * decoupled}"


def responses_to(target, code, *, model="script_again", deadline_s=10.0, **given):
    """Return the responses to one request; its text follows that of `RUNS`."""
    target.load(model)
    target.stream(script(CLEAR + "returned = None", model))
    request = script(RUNS + code, model, id="one", deadline_s=deadline_s, told=True)
    request.parameters.update(given)
    return target.stream(request)


COMES_BACK = {
    "until it is answered": """
if again:
    request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
    returned = [None]
else:
    returned = [show()]
""",
    "None for the list": """
if again:
    request.set_release_flags(2)
else:
    returned = [show()]
""",
    "told twice": """
request.set_release_flags(2)
request.set_release_flags(2 if again else 1)
returned = [None if again else show()]
""",
    "told from a thread": """
thread = threading.Thread(target=request.set_release_flags, args=(1 + again,))
thread.start()
thread.join()
returned = [None if again else show()]
""",
    "told by a coroutine": """
async def main():
    await asyncio.sleep(0.005)
    request.set_release_flags(1 + again)
    return [None if again else show()]
returned = main()
""",
    "any number with this bit": """
request.set_release_flags([3, 6, 1][len(runs) - 1])
returned = [None if again else show()]
""",
    "a sender answers in the end": """
request.set_release_flags(1 + again)
if not again:
    sender.send(show(), FINAL)
""",
    "the first sender answers in the end": """
first = kept.setdefault("sender", sender)
request.set_release_flags(1 + again)
if not again:
    first.send(show(), FINAL)
""",
    "a new object each time": """
kept.setdefault("requests", []).append(request)
request.set_release_flags(1 + again)
returned = None
if not again:
    see(*(each is request for each in kept["requests"]))
    returned = [show()]
    kept.clear()
""",
    "the same inputs": """
kept.setdefault("inputs", set()).update(
    tensor.as_numpy()[0] for tensor in request.inputs())
request.set_release_flags(1 + again)
see(len(kept["inputs"]))
returned = [None if again else show()]
""",
}


@rows("21/non-decoupled-list-element-must-be")
@pytest.mark.parametrize("code", COMES_BACK.values(), ids=COMES_BACK)
def test_a_request_comes_back(agree, code):
    """It is rescheduled while the model wants; only the first execution has START."""
    agree(lambda target: responses_to(target, code))


ANSWERED = {
    "a response": 'returned = [answer("x")]',
    "an error": 'returned = [failure("x")]',
    "no response at all": "returned = [1]",
}


@rows(
    "21/non-decoupled-list-element-must-be",
    {
        "an error-iterative": "21/execute-raised-error-response",
        "an error-not": "21/execute-raised-error-response",
    },
)
@pytest.mark.parametrize("again", [True, False], ids=["iterative", "not"])
@pytest.mark.parametrize("code", ANSWERED.values(), ids=ANSWERED)
def test_what_comes_back_has_no_answer_yet(agree, code, again):
    """Its element of the list must be None; otherwise all requests fail."""
    code = f"request.set_release_flags(2); {code}"
    agree(lambda target: responses_to(target, code, model=model_of(again=again)))


TAKEN_BACK = {
    "all of it": "request.set_release_flags(1)",
    "nothing of it": "request.set_release_flags(0)",
    "another number": "request.set_release_flags(4)",
}


@pytest.mark.parametrize("code", TAKEN_BACK.values(), ids=TAKEN_BACK)
def test_the_last_word_counts(agree, code):
    """A model that clears the flag before it returns sends its response."""
    code = f"request.set_release_flags(2); {code}; returned = [show()]"
    agree(lambda target: responses_to(target, code))


RAISED = {
    "at once": 'request.set_release_flags(2); raise ValueError("boom")',
    "the second time": """
request.set_release_flags(2)
if len(runs) == 2:
    raise ValueError("boom")
returned = [None] if again else [show()]
""",
}


@rows("21/execute-raised-error-response")
@pytest.mark.parametrize("decoupled", [False, True], ids=["plain", "decoupled"])
@pytest.mark.parametrize("code", RAISED.values(), ids=RAISED)
def test_an_exception_ends_it(agree, code, decoupled):
    """A request whose execute raised is not rescheduled; the next one succeeds."""
    code = code.replace("returned = [None]", "returned = None") if decoupled else code

    def case(target):
        model = model_of(decoupled=decoupled)
        ended = responses_to(target, code, model=model)
        return [ended, responses_to(target, "sender.send(show(), FINAL)", model=model)]

    agree(case)


STREAMS = {
    "responses in between": """
sender.send(answer(str(len(runs))))
if again:
    request.set_release_flags(2)
else:
    sender.send(show(), FINAL)
""",
    "nothing in between": """
request.set_release_flags(1 + again)
if not again:
    sender.send(show())
    sender.send(flags=FINAL)
""",
    "by the first sender": """
first = kept.setdefault("sender", sender)
first.send(show())
if again:
    request.set_release_flags(2)
else:
    first.send(flags=FINAL)
""",
    "errors in between": """
sender.send(failure(str(len(runs))))
if again:
    request.set_release_flags(2)
else:
    sender.send(flags=FINAL)
""",
    "a result is refused": "request.set_release_flags(2); returned = [None]",
}


@rows(
    {
        "responses in between": "21/decoupled-set-the-flag-before-returning",
        "nothing in between": "21/decoupled-set-the-flag-before-returning",
        "errors in between": "21/execute-raised-error-response",
    }
)
@pytest.mark.parametrize("code", STREAMS.values(), ids=STREAMS)
def test_a_stream_goes_on_when_its_request_comes_back(agree, code):
    """A decoupled model may send at every execution; the final flag ends it."""
    agree(lambda target: responses_to(target, code, model="script_again_decoupled"))


UNANSWERED = (
    "a request whose `execute` returned no response, or sent no final flag, is never "
    "answered"
)


@rows("21/decoupled-set-the-flag-before-returning")
def test_a_decoupled_coroutine_says_it_too_late(agree):
    """The flag is read when execute returns the coroutine, not when that is done."""
    code = """
async def main():
    await asyncio.sleep(0.01)
    sender.send(answer("once"))
    request.set_release_flags(2)
returned = main()
"""

    def case(target):
        return responses_to(
            target, code, model="script_again_decoupled", deadline_s=forever_s(target)
        )

    agree(case, deviates=UNANSWERED, ours=would_hang)


NOT_CONFIGURED = (
    "a model that reschedules its request, and is not configured for iterative "
    "sequences, never responds to it"
)
CANNOT = {
    "None": "request.set_release_flags(2); returned = [None]",
    "more bits": "request.set_release_flags(3); returned = [None]",
    "a coroutine": """
async def main():
    request.set_release_flags(2)
    return [None]
returned = main()
""",
}


@rows("21/model-not-configured-for-it")
@pytest.mark.parametrize("code", CANNOT.values(), ids=CANNOT)
def test_a_request_cannot_come_back(agree, code):
    """Without iterative sequences it is dropped without a response."""

    def case(target):
        return responses_to(target, code, model="script", deadline_s=forever_s(target))

    agree(case, deviates=NOT_CONFIGURED, ours=would_hang)


@rows("21/model-not-configured-for-it")
def test_a_stream_cannot_come_back(agree):
    """Earlier responses arrive; the final flag never does."""
    # By then the client waits; and the scope of the text is a circle of references.
    code = 'sender.send(answer("x")); pause(0.05); request.set_release_flags(2)'

    def case(target):
        return responses_to(
            target, code, model="script_decoupled", deadline_s=forever_s(target)
        )

    agree(case, deviates=NOT_CONFIGURED, ours=would_hang)


@rows("21/model-not-configured-for-it")
@pytest.mark.parametrize("decoupled", [False, True], ids=["plain", "decoupled"])
def test_a_sender_answers_what_cannot_come_back(agree, decoupled):
    """The owner of the sender can still respond."""
    code = """
def later():
    pause(0.05)
    sender.send(answer("late"), FINAL)
threading.Thread(target=later).start()
request.set_release_flags(2)
"""
    model = model_of(again=False, decoupled=decoupled)
    agree(lambda target: responses_to(target, code, model=model))


@rows("21/model-not-configured-for-it")
def test_without_the_bit_alone_nothing_changes(agree):
    """Other bits beside RESCHEDULE make it an ordinary response."""
    code = "request.set_release_flags({}); returned = [show()]"

    def case(target):
        return [
            responses_to(target, code.format(bits), model="script")
            for bits in (0, 3, 4)
        ]

    agree(case)


AGAIN = COMES_BACK["until it is answered"]
GIVEN = {
    "an id that starts": {"sequence_id": 42, "sequence_start": True},
    "a text that starts": {"sequence_id": "abc", "sequence_start": True},
    "an id": {"sequence_id": 42},
    "a text": {"sequence_id": "abc"},
    "an id that ends": {"sequence_id": 42, "sequence_end": True},
    "flags without an id": {"sequence_start": True, "sequence_end": True},
    "an end without an id": {"sequence_end": True},
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_a_client_may_number_its_sequences(agree, given):
    """The START flag is required; without a number flags do not count."""
    code = "see(isinstance(request.correlation_id(), str))" + AGAIN

    def case(target):
        if "sequence_id" in given:
            return responses_to(target, f"see(runs[0][1]){AGAIN}", **given)
        return responses_to(target, code, **given)

    agree(case)


AFTER_THE_END = (
    "a request that its client marked as the end of its sequence is never rescheduled, "
    "and is never answered"
)


@rows("21/model-not-configured-for-it")
def test_nothing_comes_back_after_its_sequences_end(agree):
    """A client with an id and both flags waits indefinitely."""
    code = "request.set_release_flags(2)"
    given = {"sequence_id": 42, "sequence_start": True, "sequence_end": True}

    def case(target):
        return responses_to(target, code, deadline_s=forever_s(target), **given)

    agree(case, deviates=AFTER_THE_END, ours=would_hang)


def test_what_ends_at_once_is_answered(agree):
    """Both flags are the model's to see."""
    given = {"sequence_id": 42, "sequence_start": True, "sequence_end": True}
    agree(lambda target: responses_to(target, "returned = [show()]", **given))


def test_a_model_calls_one_that_takes_its_time(agree):
    """BLS requests are rescheduled, too; one with an id must have START."""
    inner = FRESH + RUNS + AGAIN
    code = f"""
for fields in ({{}}, {{"correlation_id": 9}}, {{"correlation_id": 9, "flags": 1}},
               {{"correlation_id": "nine", "flags": 1}}, {{"flags": 1}}):
    see(bls({inner!r}, "script_again", **fields).exec())
returned = [told()]
"""

    def case(target):
        target.load("script_again")
        return responses_to(target, code, model="script")

    agree(case)


BATCHED = "script_again_batched"
"""One sequence at a time: of several in a row 24.10 sometimes loses one."""


def numbered(target, code, rows=1):
    """Return the response of a batching model to a request with a number of rows."""
    target.load(BATCHED)
    return target.infer(
        Request(BATCHED, [("CODE", texts(*[code] * rows, shape=(rows, 1)))])
    )


NINE = {f"nv_inference_{name} 9" for name in ("count", "exec_count", "request_success")}


def counted(target):
    """Return the model's counts of executions."""
    lines = [line for line in target.metrics().splitlines() if BATCHED in line]
    return NINE & {f"{line.partition('{')[0]} {line.split()[-1]}" for line in lines}


def test_sequences_are_numbered_and_every_execution_counts(agree):
    """A request that was rescheduled twice counts as three rows."""
    show = FRESH + RUNS + "see(request.correlation_id())" + AGAIN

    def case(target):
        answers = [numbered(target, show) for _ in "123"]
        answers.append(numbered(target, show, rows=2))
        deadline = time.monotonic() + 60
        # Triton's server counts a little later.
        while (seen := counted(target)) != NINE and time.monotonic() < deadline:
            pass
        return [answers, sorted(seen)]

    agree(case)
