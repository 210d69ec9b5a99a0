"""What a tree of calls must come to, in plain Python; and the model that runs it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from strategies import Node

LEVELS = 4
"""A model per level: one instance cannot wait for itself."""
NOBODY = "nobody"
CONFIG = """
input { name: "TREE" data_type: TYPE_STRING dims: [ 1 ] }
output { name: "SUM" data_type: TYPE_INT64 dims: [ 1 ] }
"""
SOURCE = """
import asyncio
import json

import numpy as np
import triton_python_backend_utils as pb_utils


def ask(level, node):
    missing = node.get("missing", False)
    text = np.array([json.dumps(node).encode()], np.object_)
    return pb_utils.InferenceRequest(
        model_name="nobody" if missing else f"level{level + 1}",
        inputs=[pb_utils.Tensor("TREE", text)],
        requested_output_names=["SUM"],
    )


class TritonPythonModel:
    def initialize(self, args):
        self.level = int(args["model_name"].removeprefix("level"))

    def execute(self, requests):
        tensor = pb_utils.get_input_tensor_by_name(requests[0], "TREE")
        node = json.loads(tensor.as_numpy()[0])
        if node["how"] != "exec":
            return self.gathered(node)
        answers = [ask(self.level, child).exec() for child in node["calls"]]
        end, value = self.end(node, answers)
        if end == "raise":
            raise ValueError(value)  # in execute
        return [value]

    async def gathered(self, node):
        questions = [ask(self.level, child) for child in node["calls"]]
        if node["how"] == "gather":
            tasks = [question.async_exec() for question in questions]
            answers = await asyncio.gather(*tasks)
        elif node["how"] == "async_exec":
            answers = [await question.async_exec() for question in questions]
        else:
            answers = [question.exec() for question in questions]
        end, value = self.end(node, answers)
        if end == "raise":
            raise ValueError(value)  # in the coroutine
        return [value]

    def end(self, node, answers):
        total = node["number"]
        for answer in answers:
            if not answer.has_error():
                tensor = pb_utils.get_output_tensor_by_name(answer, "SUM")
                total += int(tensor.as_numpy()[0])
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
        array = np.array([total], np.int64)
        return "answer", pb_utils.InferenceResponse([pb_utils.Tensor("SUM", array)])

    def failure(self, text, code="INTERNAL"):
        error = pb_utils.TritonError(text, getattr(pb_utils.TritonError, code))
        return pb_utils.InferenceResponse(error=error)
"""


@dataclass
class Expected:
    """What a call comes to, and what its trace shows."""

    model: str
    total: int = 0
    error: str = ""
    code: str = ""
    raised: bool = False
    """Whether ``execute`` failed, which alone counts as a failure."""
    asynchronous: bool = False
    """Whether it was made by ``async_exec``."""
    calls: list[Expected] = field(default_factory=list)

    def shape(self) -> tuple[object, ...]:
        """Return the call and those below it, siblings in any order."""
        below = sorted((call.shape() for call in self.calls), key=repr)
        return self.model, self.error, self.asynchronous, below

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
            for place in ("execute", "the coroutine")
        }

    def run(self, node: Node, level: int = 0) -> Expected:
        """Return what a call comes to at this level."""
        if node.get("missing"):
            text = (
                f"Model {NOBODY} - Error when running inference: "
                f"Request for unknown model: '{NOBODY}' is not found"
            )
            return Expected(NOBODY, error=text, code="INTERNAL")
        expected = Expected(f"level{level}")
        for child in node["calls"]:
            call = self.run(child, level + 1)
            call.asynchronous = node["how"] in ("gather", "async_exec")
            expected.calls.append(call)
        self._end(node, expected)
        return expected

    def _end(self, node: Node, expected: Expected) -> None:
        expected.total = node["number"]
        for call in expected.calls:
            if not call.error:
                expected.total += call.total
            elif node["on_error"] == "pass":
                expected.error, expected.code = call.error, call.code
                return
            elif node["on_error"] == "wrap":
                expected.error, expected.code = call.error, "INTERNAL"
                return
            elif node["on_error"] == "raise":
                self._raise(node, expected, call.error)
                return
        if node["ends"] == "raise":
            self._raise(node, expected, f"boom {expected.total}")
        elif node["ends"] == "error":
            expected.error, expected.code = f"no {expected.total}", node["code"]

    def _raise(self, node: Node, expected: Expected, text: str) -> None:
        name, place = expected.model, "execute"
        function = "execute"
        if node["how"] != "exec":
            place, function = "the coroutine", "gathered"
        file = self._folder / name / "1" / "model.py"
        expected.raised = True
        expected.code = "INTERNAL"
        expected.error = (
            f"Failed to process the request(s) for model '{name}_0', message: "
            f"ValueError: {text}\n\nAt:\n  {file}({self._line[place]}): {function}\n"
        )
