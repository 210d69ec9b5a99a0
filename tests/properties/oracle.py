"""What a tree of calls must come to, in plain Python; and the model that runs it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from strategies import Node

LEVELS = 4
"""A model per level, and a decoupled one: one instance cannot wait for itself."""
NOBODY = "nobody"
CONFIG = """
input { name: "TREE" data_type: TYPE_STRING dims: [ 1 ] }
output { name: "SUM" data_type: TYPE_INT64 dims: [ 1 ] }
"""
DECOUPLED = "model_transaction_policy { decoupled: true }"
SOURCE = """
import asyncio
import json

import numpy as np
import triton_python_backend_utils as pb_utils


def ask(level, node):
    name = "stream" if "sends" in node else "level"
    text = np.array([json.dumps(node).encode()], np.object_)
    return pb_utils.InferenceRequest(
        model_name="nobody" if "missing" in node else f"{name}{level + 1}",
        inputs=[pb_utils.Tensor("TREE", text)],
        requested_output_names=["SUM"],
    )


def added(total, number):
    # The order matters.
    return (3 * total + number) % 1_000_003


def listed(answer):
    if isinstance(answer, pb_utils.InferenceResponse):
        return [answer]
    items = list(answer)
    assert len(items) == len(list(answer))
    return items


class TritonPythonModel:
    def initialize(self, args):
        self.level = int(args["model_name"][-1])

    def execute(self, requests):
        tensor = pb_utils.get_input_tensor_by_name(requests[0], "TREE")
        node = json.loads(tensor.as_numpy()[0])
        if "sends" in node:
            sender = requests[0].get_response_sender()
            return self.stream(node, sender)  # in the one that streams
        if node["how"] != "exec":
            return self.gathered(node)
        end, value = self.end(node, self.answers(node))
        if end == "raise":
            raise ValueError(value)  # in execute
        return [value]

    def stream(self, node, sender):
        for number, kind in enumerate(node["sends"], node["number"]):
            if kind == "error":
                sender.send(self.failure(f"item {number}", node["code"]))
            else:
                sender.send(self.sum(number))
        end, value = self.end(node, self.answers(node))
        if end == "raise":
            raise ValueError(value)  # in stream
        if node["flag"] == "with the last":
            sender.send(value, pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
            return
        if node["flag"] == "alone":
            sender.send(value)
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def answers(self, node):
        calls = [(ask(self.level, child), child["many"]) for child in node["calls"]]
        return [question.exec(decoupled=many) for question, many in calls]

    async def gathered(self, node):
        calls = [(ask(self.level, child), child["many"]) for child in node["calls"]]
        if node["how"] == "gather":
            tasks = [question.async_exec(decoupled=many) for question, many in calls]
            answers = await asyncio.gather(*tasks)
        elif node["how"] == "async_exec":
            answers = [await q.async_exec(decoupled=many) for q, many in calls]
        else:
            answers = self.answers(node)
        end, value = self.end(node, answers)
        if end == "raise":
            raise ValueError(value)  # in the coroutine
        return [value]

    def end(self, node, answers):
        total = node["number"]
        for answer in [each for answer in answers for each in listed(answer)]:
            if not answer.has_error():
                for tensor in answer.output_tensors():
                    total = added(total, int(tensor.as_numpy()[0]))
            elif node["on_error"] == "pass":
                return "answer", answer
            elif node["on_error"] == "wrap":
                return "answer", self.failure(answer.error().message())
            elif node["on_error"] == "raise":
                return "raise", answer.error().message()
        if node["ends"] == "raise":
            return "raise", f"boom {total}"
        if node["ends"] == "error":
            return "answer", self.failure(f"no {total}", node["code"])
        return "answer", self.sum(total)

    def sum(self, total):
        array = np.array([total], np.int64)
        return pb_utils.InferenceResponse([pb_utils.Tensor("SUM", array)])

    def failure(self, text, code="INTERNAL"):
        error = pb_utils.TritonError(text, getattr(pb_utils.TritonError, code))
        return pb_utils.InferenceResponse(error=error)
"""


def added(total: int, number: int) -> int:
    """Return what a model computes from a number in a response."""
    return (3 * total + number) % 1_000_003


@dataclass
class Item:
    """What one response holds: a number, an error, or nothing."""

    total: int | None = None
    error: str = ""
    code: str = ""


@dataclass
class Expected:
    """What a call comes to, and what its trace shows."""

    model: str
    items: list[Item] = field(default_factory=list)
    """Its responses, the last one last."""
    raised: bool = False
    """Whether ``execute`` failed, which alone counts as a failure."""
    asynchronous: bool = False
    """Whether it was made by ``async_exec``."""
    calls: list[Expected] = field(default_factory=list)

    @property
    def answer(self) -> Item:
        """The only response, of a call that is not decoupled."""
        (item,) = self.items
        return item

    def shape(self) -> tuple[object, ...]:
        """Return the call and those below it, siblings in any order."""
        below = sorted((call.shape() for call in self.calls), key=repr)
        sent = len(self.items) if self.model.startswith("stream") else 0
        error = next((item.error for item in self.items if item.error), "")
        return self.model, error, sent, self.asynchronous, below

    def executions(self) -> Counter[tuple[str, bool]]:
        """Return how often each model was executed, and failed."""
        found = Counter({(self.model, self.raised): 1} if self.model != NOBODY else {})
        for call in self.calls:
            found += call.executions()
        return found


class Oracle:
    """Works out what a tree of calls comes to.

    Parameters
    ----------
    folder
        Of the models, whose files are named in error texts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        lines = SOURCE.splitlines()
        self._line = {
            place: next(n for n, line in enumerate(lines, 1) if f"# in {place}" in line)
            for place in ("execute", "the coroutine", "stream", "the one that streams")
        }

    def run(self, node: Node, level: int = 0) -> Expected:
        """Return what a call comes to at this level."""
        if node.get("missing"):
            text = (
                f"Model {NOBODY} - Error when running inference: "
                f"Request for unknown model: '{NOBODY}' is not found"
            )
            return Expected(NOBODY, [Item(error=text, code="INTERNAL")])
        expected = Expected(f"{'stream' if 'sends' in node else 'level'}{level}")
        for child in node["calls"]:
            call = self.run(child, level + 1)
            call.asynchronous = node["how"] in ("gather", "async_exec")
            expected.calls.append(call)
        for number, kind in enumerate(node.get("sends", ()), node["number"]):
            failed = Item(error=f"item {number}", code=node["code"])
            expected.items.append(failed if kind == "error" else Item(number))
        last = self._end(node, expected)
        flag = "with the last" if expected.raised else node.get("flag", "")
        if flag != "instead of the last":
            expected.items.append(last)
        if flag in ("alone", "instead of the last"):
            expected.items.append(Item())
        return expected

    def _end(self, node: Node, expected: Expected) -> Item:
        total = node["number"]
        for item in [item for call in expected.calls for item in call.items]:
            if item.total is not None:
                total = added(total, item.total)
            elif not item.error:
                continue
            elif node["on_error"] == "pass":
                return item
            elif node["on_error"] == "wrap":
                return Item(error=item.error, code="INTERNAL")
            elif node["on_error"] == "raise":
                return self._raise(node, expected, item.error)
        if node["ends"] == "raise":
            return self._raise(node, expected, f"boom {total}")
        if node["ends"] == "error":
            return Item(error=f"no {total}", code=node["code"])
        return Item(total)

    def _raise(self, node: Node, expected: Expected, text: str) -> Item:
        name, place = expected.model, "execute"
        function = "execute"
        if node["how"] != "exec":
            place, function = "the coroutine", "gathered"
        if "sends" in node:
            place = function = "stream"
        file = self._folder / name / "1" / "model.py"
        expected.raised = True
        lines = f"  {file}({self._line[place]}): {function}\n"
        if "sends" in node:
            lines += f"  {file}({self._line['the one that streams']}): execute\n"
        error = (
            f"Failed to process the request(s) for model '{name}_0', message: "
            f"ValueError: {text}\n\nAt:\n{lines}"
        )
        return Item(error=error, code="INTERNAL")
