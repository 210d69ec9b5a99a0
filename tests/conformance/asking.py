"""How cases put their questions: short ways to make values and requests."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tritonclient.utils import np_to_triton_dtype

from .targets import PATIENCE_S, Answer, Request, Target, Value


def tensor(array: Any, dtype: Any = np.float32) -> Value:
    """Return numbers as they travel."""
    array = np.asarray(array, dtype=dtype)
    return Value(np_to_triton_dtype(array.dtype), array.shape, array.tobytes())


def texts(*elements: str | bytes, shape: tuple[int, ...] | None = None) -> Value:
    """Return a BYTES tensor."""
    coded = [each.encode() if isinstance(each, str) else each for each in elements]
    data = b"".join(len(each).to_bytes(4, "little") + each for each in coded)
    return Value("BYTES", (len(coded),) if shape is None else shape, data)


def ask(target: Target, model: str, /, *outputs: str, **inputs: Value) -> Answer:
    """Load a model, send inputs by keyword, and return its response."""
    target.load(model)
    return target.infer(Request(model, list(inputs.items()), outputs))


def run(target: Target, code: str, *models: str) -> list[Any]:
    """Run Python text in a model's execute; return its decoded output.

    Parameters
    ----------
    models
        Further models of `tests/repositories` that the text calls.
    """
    return shown(target, ask_repl(target, code, *models))


def apart(
    target: Target, codes: Mapping[str, str], *models: str
) -> dict[str, list[Any]]:
    """Run texts that may end a server; return the output of each."""
    requests = [Request("repl", [("CODE", texts(code))]) for code in codes.values()]
    answers = target.apart(requests, *models)
    pairs = zip(codes, answers, strict=True)
    return {name: shown(target, answer) for name, answer in pairs}


def shown(target: Target, answer: Answer) -> list[Any]:
    """Return the decoded output of the model `repl`."""
    if answer.error is not None:
        return ["error", *answer.error]
    return json.loads(target.normalised(decoded(answer.outputs["OUT"])))


def given(target: Target, code: str) -> Answer:
    """Run Python text inside a model's execute; return the tensors that it gave."""
    answer = ask_repl(target, code)
    rest = {name: value for name, value in answer.outputs.items() if name != "OUT"}
    return Answer(rest, answer.error)


def ask_repl(target: Target, code: str, *models: str) -> Answer:
    """Send Python text to the model `repl`."""
    for model in models:
        target.load(model)
    return ask(target, "repl", CODE=texts(textwrap.dedent(code)))


def decoded(value: Value) -> str:
    """Return the one text of a BYTES tensor."""
    return value.data[4:].decode()


def forever_s(target: Target) -> float:
    """Return the time limit for a response that never arrives.

    Triton's client can only guess; blsnb reports it, later on a busy machine.
    """
    return 0.6 if target.name == "triton" else PATIENCE_S


EMPTY_FINAL = "triton_enable_empty_final_response"


def script(
    code: str,
    model: str = "script",
    *,
    outputs: Sequence[str] = (),
    id: str = "",
    deadline_s: float = PATIENCE_S,
    told: bool = False,
) -> Request:
    """Return a request by which the model `script`, or a similar one, runs Python text.

    Parameters
    ----------
    told
        Whether the client of a stream wants every final flag.
    """
    return Request(
        model,
        [("CODE", texts(textwrap.dedent(code)))],
        outputs,
        id=id,
        parameters={EMPTY_FINAL: True} if told else {},
        deadline_s=deadline_s,
    )


def would_hang(known: list[Any], seen: list[Any]) -> None:
    """Assert that blsnb reports a hang where Triton's client meets its deadline."""
    assert known[:-1] == seen[:-1]
    assert "DEADLINE_EXCEEDED" == known[-1]["error"][0]
    assert "WouldHang" == seen[-1]["error"][0]
