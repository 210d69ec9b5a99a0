"""The generate extension over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .covering import rows
from .over_http import Ask, End
from .targets import Target

Agree = Callable[..., None]
Served = Callable[[Target], End]
MODELS = ("add", "batch", "echo", "flexible", "script", "script_decoupled", "texts")
ONE = {"A": [1, 2, 3, 4], "B": [1, 1, 1, 1]}


def ask(model: str, body: Any, kind: str = "generate", **headers: str) -> Ask:
    """Return a request of the extension."""
    return Ask(f"/v2/models/{model}/{kind}", body, headers=headers)


def run(code: str, **more: Any) -> Ask:
    """Return a request that runs Python text."""
    return ask("script", {"CODE": code, **more})


ANSWER = "returned = [answer('a')]"
TOLD = (
    "returned = [answer(request.request_id(), request.parameters(), "
    "str(request.correlation_id()), str(request.timeout()))]"
)
ASKED = {
    "right": [
        run(ANSWER),
        ask("script", {"CODE": [ANSWER]}),
        ask("script", {"CODE": [[ANSWER]]}),
        ask("script", {"parameters": {"CODE": ANSWER}}),
        ask("script/versions/1", {"CODE": ANSWER}),
        ask("add", ONE),
        ask("batch", ONE),
        ask("batch", {"A": list(range(8)), "B": [1] * 8}),
        ask("flexible", {"X": [1, 2, 3, 4]}),
        ask("texts", {"X": ["a", "b"]}),
        ask("echo", {"INT32": [1, 2], "BOOL": True, "FP64": 1.5}),
    ],
    "shape": [
        ask("script", {"CODE": [ANSWER, ANSWER]}),
        ask("script", {"CODE": []}),
        ask("add", {"A": 1, "B": 2}),
        ask("flexible", {"X": [1, 2, 3]}),
        ask("echo", {"INT32": [[1, 2], [3]]}),
        ask("echo", {"INT32": []}),
    ],
    "number for bytes": [ask("script", {"CODE": each}) for each in (5, None, {})],
    "types": [
        ask("echo", {"INT32": "x"}),
        ask("echo", {"INT32": 1.5}),
        ask("echo", {"BOOL": 1}),
        ask("echo", {"FP16": 1}),
    ],
    "parameters": [
        run(TOLD, x=1, y="s", z=True, f=1.5),
        run(TOLD, parameters={"x": 1}),
        run(TOLD, parameters={}),
        run(TOLD, id="q"),
        run(TOLD, id=5),
        run(TOLD, sequence_id=5, priority=1, timeout=3, triton_x=1),
        run(TOLD, x=[1]),
        run(TOLD, x=None),
        run(TOLD, parameters=5),
        run(TOLD, parameters={"p": {"q": 1}}),
    ],
    "wrong": [
        ask("script", b""),
        ask("script", b"{"),
        ask("script", b"[]"),
        ask("script", {}),
        ask("script", b'{"CODE":"a","CODE":"b"}'),
        ask("nope", {}),
        ask("script/versions/9", {}),
        ask("script", {"CODE": ANSWER}, **{"Content-Encoding": "gzip"}),
        ask("script", {"CODE": ANSWER}, **{"Accept-Encoding": "gzip"}),
        ask("script", b"{", "generate_stream"),
        ask("script", {}, "generate_stream"),
        ask("nope", {}, "generate_stream"),
    ],
    "errors": [
        run("returned = [failure('gen err')]"),
        run("returned = [failure('gone', pb_utils.TritonError.NOT_FOUND)]"),
        run("raise ValueError('boom')"),
    ],
}


@rows(
    "r6.2/post-generate-generate_stream",
    {
        "shape": "r6.4/list-for-a-fixed-1-input",
        "number for bytes": "r6.4/number-for-bytes",
        "errors": "r6.4/error-response-as-the-only-one",
    },
)
@pytest.mark.parametrize("asks", ASKED.values(), ids=ASKED)
def test_generate(agree: Agree, served: Served, asks: list[Ask]) -> None:
    """Status, content type and body agree for an object."""
    agree(lambda target: served(target).have(*MODELS).each(asks))


SENDER = "sender = request.get_response_sender()\n"
END = "sender.send(flags=FINAL)"
SENT = {
    "one": "sender.send(answer('a'), flags=FINAL)",
    "one, and the flag": f"sender.send(answer('a'))\n{END}",
    "none": END,
    "three": "".join(f"sender.send(answer('{each}'))\n" for each in "abc") + END,
    "two, the last with the flag": (
        "sender.send(answer('a'))\nsender.send(answer('b'), flags=FINAL)"
    ),
    "an error": f"sender.send(failure('gen err'))\n{END}",
    "an error with the flag": "sender.send(failure('gen err'), flags=FINAL)",
    "an error in between": (
        "sender.send(answer('a'))\nsender.send(failure('gen err'))\n"
        f"sender.send(answer('b'))\n{END}"
    ),
    "an error at first": (
        f"sender.send(failure('gen err'))\nsender.send(answer('b'))\n{END}"
    ),
}


@rows("r6.4/decoupled-with-0-or-2-responses", "r6.4/generate_stream")
@pytest.mark.parametrize("code", SENT.values(), ids=SENT)
def test_a_model_that_answers_as_often_as_it_likes(
    agree: Agree, served: Served, code: str
) -> None:
    """Generate expects one response; a stream accepts any number, and errors."""
    body = {"CODE": SENDER + code, "id": "q"}
    asks = [
        ask("script_decoupled", body, kind) for kind in ("generate", "generate_stream")
    ]

    agree(lambda target: served(target).have("script_decoupled").each(asks))


@rows("r6.4/generate_stream")
def test_a_stream_of_one(agree: Agree, served: Served) -> None:
    """Any model supports it."""
    codes = (ANSWER, "returned = [failure('gen err')]", "raise ValueError('boom')")
    asks = [ask("script", {"CODE": each}, "generate_stream") for each in codes]

    agree(lambda target: served(target).have("script").each(asks))


@pytest.mark.parametrize("kind", ["generate", "generate_stream"])
def test_a_failure_follows_the_response_that_was_sent(
    agree: Agree, served: Served, kind: str
) -> None:
    """A stream has both; generate counts two responses."""
    code = f"{SENDER}sender.send(answer('a'))\nraise ValueError('boom')"
    asks = [ask("script", {"CODE": code, "id": "q"}, kind)]

    agree(lambda target: served(target).have("script").each(asks))


STEP = """
platform: "ensemble"
input { name: "CODE" data_type: TYPE_STRING dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_STRING dims: [ -1 ] }
ensemble_scheduling { step {
    model_name: "script" model_version: -1
    input_map { key: "CODE" value: "CODE" } output_map { key: "OUT" value: "OUT" }
} }
"""


@pytest.mark.parametrize("kind", ["generate", "generate_stream"])
def test_a_failure_follows_the_response_of_an_ensemble(
    agree: Agree, served: Served, kind: str
) -> None:
    """A stream has the response of its only step, and its failure."""
    code = f"{SENDER}sender.send(answer('a'))\nraise ValueError('boom')"

    def case(target: Target) -> Any:
        end = served(target).have("script")
        end.write("one_step", STEP, "")
        return end.ask(ask("one_step", {"CODE": code, "id": "q"}, kind))

    agree(case)


@pytest.mark.parametrize("kind", ["generate", "generate_stream"])
def test_a_scheduler_refuses_a_request_of_a_decoupled_model(
    agree: Agree, served: Served, kind: str
) -> None:
    """The status is that of the refusal, and the body is JSON."""
    config = """backend: "python" sequence_batching {}
        model_transaction_policy { decoupled: true }"""
    source = "class TritonPythonModel:\n    def execute(self, requests): pass"

    def case(target: Target) -> Any:
        end = served(target)
        end.write("in_sequence", config, source)
        asks = [{}, {"sequence_id": 4}, {"sequence_id": 4, "id": "q"}]
        return end.each([ask("in_sequence", each, kind) for each in asks])

    agree(case)
