"""Responses of a decoupled BLS request, and calls without waiting."""

import textwrap

import pytest

from .asking import ask, forever_s, run, script, would_hang
from .covering import rows
from .targets import Request

SETUP = """
import asyncio
E = pb_utils.TritonError
def call(code, model="script_decoupled", outputs=(), **fields):
    code = "sender = request.get_response_sender()\\n" + code
    coded = pb_utils.Tensor("CODE", np.array([code], dtype=object))
    return pb_utils.InferenceRequest(model_name=model, inputs=[coded],
        requested_output_names=list(outputs), **fields)
def stream(code, *args, **fields):
    return call(code, *args, **fields).exec(decoupled=True)
TWO = 'sender.send(answer("a")); sender.send(answer("b")); sender.send(flags=FINAL)'
TWO_AND_FLAG = 'sender.send(answer("a")); sender.send(answer("b"), FINAL)'
"""

ITEMS = {
    "two, then the flag": "see(list(stream(TWO)))",
    "two, the flag with the last": "see(list(stream(TWO_AND_FLAG)))",
    "flag only": 'see(list(stream("sender.send(flags=FINAL)")))',
    "one with the flag": """see(list(stream('sender.send(answer("a"), FINAL)')))""",
    "an ordinary model": """
        see(list(stream('returned = [answer("one")]', "script")))
        """,
    "an ordinary model that fails": """
        see(list(stream('raise ValueError("boom")', "script")))
        """,
    "unknown model": 'see(list(stream("", "nope")))',
    "unknown output": 'see(list(stream("", outputs=["NOPE"])))',
    "wrong input": """
        request = pb_utils.InferenceRequest(model_name="script_decoupled",
            requested_output_names=[], inputs=[])
        see(list(request.exec(decoupled=True)))
        """,
    "an output of two": 'see(list(stream(TWO, outputs=["MORE"])))',
    "an error first, with the flag": """
        see(list(stream(
            'sender.send(failure("no", pb_utils.TritonError.NOT_FOUND), FINAL)')))
        """,
    "raises at once": """see(list(stream('raise ValueError("boom")')))""",
    "returns something": """see(list(stream("returned = []")))""",
    "empty responses": """
        see(list(stream('sender.send(pb_utils.InferenceResponse());'
                        'sender.send(pb_utils.InferenceResponse(), FINAL)')))
        """,
    "raises after the flag": """
        see(list(stream('sender.send(answer("a"), FINAL); raise ValueError("x")')))
        """,
    "an async target": """
see(list(stream('''
async def main():
    for text in "ab":
        await asyncio.sleep(0.005)
        sender.send(answer(text))
    sender.send(flags=FINAL)
returned = main()
''')))
""",
    "late, from a thread": """
see(list(stream('''
def later():
    pause(0.03)
    sender.send(answer("late"), FINAL)
threading.Thread(target=later).start()
''')))
""",
    "without decoupled=True": """
        see(call(TWO).exec())
        """,
    "decoupled=False": "see(call(TWO).exec(decoupled=False))",
    "decoupled=1": "see(list(call(TWO).exec(1)))",
    "decoupled=np.True_": "see(list(call(TWO).exec(decoupled=np.bool_(True))))",
}


@rows(
    {
        "two, then the flag": "6/final-flag-sent-separately-send-flags",
        "two, the flag with the last": "6/final-flag-sent-separately-send-flags",
        "flag only": "6/final-flag-sent-separately-send-flags",
        "an ordinary model": "6/final-flag-sent-separately-send-flags",
        "unknown model": "6/error",
        "an error first, with the flag": "6/error",
        "without decoupled=True": "19.2/decoupled-target-without-decoupled-true",
        "decoupled=1": "4.2/exec-decoupled-false",
    }
)
@pytest.mark.parametrize("code", ITEMS.values(), ids=ITEMS)
def test_what_an_iterator_yields(agree, code):
    """Each response, and a last empty one where the flag was sent alone."""
    agree(
        lambda target: run(
            target, SETUP + textwrap.dedent(code), "script", "script_decoupled"
        )
    )


PROTOCOL = {
    "iter is itself": "i = stream(TWO); see(iter(i) is i)",
    "next": """
        i = stream(TWO)
        for _ in "1234":
            trial(lambda: next(i))
        trial(lambda: next(i))
        """,
    "the end": """
        i = stream(TWO_AND_FLAG)
        list(i)
        try:
            next(i)
        except StopIteration as end:
            see(end.args)
        """,
    "again": """
        i = stream(TWO)
        see(len(list(i)), len(list(i)), len(list(i)))
        """,
    "resumed": """
        i = stream(TWO_AND_FLAG)
        for response in i:
            see(response)
            break
        see(list(i))
        see(list(i))
        """,
    "the end, then next": """
        i = stream(TWO_AND_FLAG)
        list(i)
        trial(lambda: next(i))
        trial(lambda: next(iter(i)))
        """,
    "the same objects": """
        i = stream(TWO_AND_FLAG)
        first, second = list(i), list(i)
        see([a is b for a, b in zip(first, second)])
        """,
    "len": "trial(lambda: len(stream(TWO)))",
    "index": "trial(lambda: stream(TWO)[0])",
    "bool": "see(bool(stream(TWO)))",
    "repr": "see(stream(TWO))",
    "class": "see(repr(type(stream(TWO))), type(stream(TWO)).__name__)",
    "names": """
        see([n for n in dir(stream(TWO)) if not n.startswith("_")])
        see([n for n in dir(type(stream(TWO))) if not n.startswith("_")])
        see(hasattr(stream(TWO), "cancel"))
        see(hasattr(stream(TWO), "__aiter__"), hasattr(stream(TWO), "__await__"))
        """,
    "async for": """
        async def main():
            async for response in stream(TWO):
                pass
        trial(lambda: asyncio.run(main()))
        """,
    "await": """
        async def main():
            await stream(TWO)
        trial(lambda: asyncio.run(main()))
        """,
    "cancel": "trial(lambda: stream(TWO).cancel())",
    "arguments": """
        i = stream(TWO)
        trial(lambda: i.__next__(1))
        trial(lambda: i.__iter__(1))
        trial(lambda: setattr(i, "x", 1))
        """,
    "dropped early": """
        next(stream(TWO))
        see(bls("script_decoupled", [], ("CODE", np.array(["x"], dtype=object)))
            .error().message()[:30])
        """,
    "kept for later": """
        i = stream(TWO)
        responses = list(i)
        see(responses[0].output_tensors()[0], responses[-1].output_tensors())
        """,
    "read in a thread": """
        import threading
        i, got = stream(TWO), []
        thread = threading.Thread(target=lambda: got.extend(i))
        thread.start(); thread.join()
        see(got)
        """,
    "two at once": """
        a, b = stream(TWO), stream(TWO_AND_FLAG)
        see(next(b), next(a), list(a), list(b))
        """,
}


@rows(
    {
        "iter is itself": "6/protocol",
        "async for": "6/protocol",
        "names": ("6/protocol", "6/cancel-25-04"),
        "next": "6/next",
        "the end": "6/end",
        "again": "6/re-iteration",
        "resumed": "6/re-iteration",
        "dropped early": "6/dropping-it-early",
    }
)
@pytest.mark.parametrize("code", PROTOCOL.values(), ids=PROTOCOL)
def test_an_iterator_as_an_object(agree, code):
    """It can be read, resumed and read again like Triton's."""
    agree(
        lambda target: run(
            target, SETUP + textwrap.dedent(code), "script", "script_decoupled"
        )
    )


@rows("6/exec-decoupled-true-returns")
def test_the_call_returns_with_the_first_response(agree):
    """Later ones arrive while the caller continues."""
    code = """
import os, tempfile, time
held = tempfile.mkdtemp()
i = stream(f'''
import os
def later():
    for _ in range(3000):
        if not os.path.exists({held!r}):
            break
        pause(0.01)
    sender.send(answer(str(time.monotonic_ns())), FINAL)
sender.send(answer("first"))
threading.Thread(target=later).start()
''')
returned = time.monotonic_ns()
os.rmdir(held)
first, last = i
see(first, int(last.output_tensors()[0].as_numpy()[0]) > returned)
"""
    agree(lambda target: run(target, SETUP + textwrap.dedent(code), "script_decoupled"))


@rows("6/dropping-it-early")
def test_a_caller_may_leave_a_stream_that_never_ends(agree):
    """Only reading further would wait indefinitely; this caller responds."""
    # Not in `repl`, which could not be unloaded any more.
    code = """
    i = bls('request.get_response_sender().send(answer("a"))').exec(decoupled=True)
    see(next(i))
    del i
    returned = [told()]
    """

    def case(target):
        target.load("script")
        target.load("script_decoupled")
        return target.infer(script(code))

    agree(case)


@rows("6/dropping-it-early")
def test_a_dropped_stream_runs_to_its_end(agree):
    """The target is not cancelled; an iterator may be read in a later execute."""
    first = """
kept["i"] = bls('''
sender = request.get_response_sender()
sender.send(answer("a"))
pause(0.05)
sender.send(answer(str(request.is_cancelled())), FINAL)
''').exec(decoupled=True)
returned = [answer("kept")]
"""
    second = 'see(list(kept.pop("i"))); returned = [told()]'

    def case(target):
        target.load("script")
        target.load("script_decoupled")
        return [target.infer(script(first)), target.infer(script(second))]

    agree(case)


LOST = {
    "an error later": """
sender.send(answer("a"))
sender.send(failure("later", pb_utils.TritonError.NOT_FOUND), FINAL)
""",
    "an error, then the flag": """
sender.send(failure("first", pb_utils.TritonError.NOT_FOUND))
sender.send(flags=FINAL)
""",
    "an error, then a response": """
sender.send(failure("first"))
sender.send(answer("a"), FINAL)
""",
    "raises later": """
sender.send(answer("a"))
raise ValueError("boom")
""",
}
LOST_REASON = (
    "an error that is not the only response of a decoupled BLS call is lost, or its "
    "iterator waits indefinitely (until 25.03)"
)


def delivered(known, seen):
    """Assert that the caller on blsnb reads the error as an item."""
    assert "DEADLINE_EXCEEDED" == known["error"][0]
    assert seen["error"] is None


@rows("6/error")
@pytest.mark.parametrize("code", LOST.values(), ids=LOST)
def test_an_error_that_is_not_the_only_response(agree, code):
    """24.10 hangs; blsnb delivers it, as newer releases do."""

    def case(target):
        target.load("script_decoupled")
        target.load("reader")
        text = "sender = request.get_response_sender()" + code
        return target.infer(script(text, "reader", deadline_s=1.5))

    agree(case, deviates=LOST_REASON, ours=delivered)


ASYNC = {
    "no running loop": 'trial(lambda: call("").async_exec())',
    "its class": """
        async def main():
            future = call('returned = [answer("a")]', "script").async_exec()
            see(type(future).__module__, type(future).__name__)
            return await future
        see(asyncio.run(main()))
        """,
    "decoupled": """
        async def main():
            return await call(TWO).async_exec(decoupled=True)
        i = asyncio.run(main())
        see(i, list(i))
        """,
    "decoupled, not said": """
        async def main():
            return await call(TWO).async_exec()
        see(asyncio.run(main()))
        """,
    "an ordinary model, decoupled": """
        async def main():
            return await call('returned = [answer("a")]', "script").async_exec(True)
        see(list(asyncio.run(main())))
        """,
    "an error": """
        async def main():
            return await call("", "nope").async_exec()
        see(asyncio.run(main()))
        """,
    "several": """
        async def main():
            calls = [call(f'returned = [answer("{n}")]', "script") for n in range(8)]
            return await asyncio.gather(*(each.async_exec() for each in calls))
        see(asyncio.run(main()))
        """,
    "exec in a coroutine": """
        async def main():
            return call('returned = [answer("a")]', "script").exec()
        see(asyncio.run(main()))
        """,
    "wait_for": """
        import os, tempfile, time
        async def main():
            held = tempfile.mkdtemp()
            begin = time.monotonic()
            slow = call(f'''
        import os
        for _ in range(3000):
            if not os.path.exists({held!r}):
                break
            pause(0.01)
        returned = [answer("a")]''', "script")
            try:
                await asyncio.wait_for(slow.async_exec(), 0.05)
            except asyncio.TimeoutError:
                see("timed out", time.monotonic() - begin < 15)
            os.rmdir(held)
        asyncio.run(main())
        """,
    "wrong argument": """
        async def main():
            return await call(TWO).async_exec("x")
        trial(lambda: asyncio.run(main()))
        """,
    "in a coroutine of a thread": """
        import threading
        async def main():
            see(await call('returned = [answer("a")]', "script").async_exec())
        thread = threading.Thread(target=lambda: asyncio.run(main()))
        thread.start(); thread.join()
        """,
}


@rows({"its class": "4.2/async_exec-decoupled-false"})
@pytest.mark.parametrize("code", ASYNC.values(), ids=ASYNC)
def test_async_exec(agree, code):
    """It needs a running loop and returns a future of the result of `exec`."""
    agree(
        lambda target: run(
            target, SETUP + textwrap.dedent(code), "script", "script_decoupled"
        )
    )


SELF_CALL = (
    "a model that calls itself, or a circle of models, waits indefinitely when no "
    "instance is free"
)


def test_a_model_that_calls_itself(agree):
    """With one instance Triton waits indefinitely; blsnb reports it at once."""

    def case(target):
        target.load("calls_itself")
        return [target.infer(Request("calls_itself", deadline_s=forever_s(target)))]

    agree(case, deviates=SELF_CALL, ours=would_hang)


def test_a_model_with_two_instances_may_call_itself(agree):
    """The second instance serves the first."""
    agree(lambda target: ask(target, "calls_itself_twice"))
