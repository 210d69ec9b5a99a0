"""What one warm request with one BLS call executes, really counted."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

CHILD = """\
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        x = pb_utils.get_input_tensor_by_name(requests[0], "X").as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)])]
"""
PARENT = """\
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        x = pb_utils.get_input_tensor_by_name(requests[0], "X")
        request = pb_utils.InferenceRequest(
            model_name="child", inputs=[x], requested_output_names=["Y"])
        response = request.exec()
        y = pb_utils.get_output_tensor_by_name(response, "Y").as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", y)])]
"""
CONFIG = """\
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>")
"""Names of code that Python 3.12 and later run as part of their function."""
WARM = 5
MEASURED = 3


@dataclass
class Walk:
    """What the calling thread executed in the files of one folder."""

    lines: dict[str, set[int]] = field(default_factory=dict)
    """Numbers of the executed lines of each file, by its path in the folder."""
    functions: set[tuple[str, str]] = field(default_factory=set)
    """File and qualified name; a comprehension belongs to its function."""
    stacks: list[list[FrameType]] = field(default_factory=list)
    """Frames of each ``execute`` that was entered, innermost first."""

    @property
    def executed(self) -> int:
        """Number of executed lines."""
        return sum(map(len, self.lines.values()))

    @property
    def frames_to_execute(self) -> int:
        """Number of frames between the client's call and the first ``execute``."""
        return len(self.stacks[0]) - 1

    @property
    def frames_per_call(self) -> int:
        """Number of frames between the ``execute`` of a caller and of its callee."""
        return len(self.stacks[1]) - len(self.stacks[0]) - 1

    def share(self, files: list[str]) -> float:
        """Return which part of the executed lines some files have."""
        return sum(len(self.lines.get(file, ())) for file in files) / self.executed


def walk_request() -> Walk:
    """Run a model that calls another one; return the shortest of some warm requests.

    Tensors are on the host, whatever devices the machine has.
    """
    import numpy as np

    import blsnb

    x = {"X": np.zeros(4, np.float32)}
    with blsnb.Server(runtime="numpy") as server:
        server.define("child", CHILD, config=CONFIG)
        server.define("parent", PARENT, config=CONFIG)
        for _ in range(WARM):
            server.infer("parent", x)
        folder = blsnb.__path__[0]
        walks = [
            record(lambda: server.infer("parent", x), folder) for _ in range(MEASURED)
        ]
    return min(walks, key=lambda walk: walk.executed)


def record(act: Callable[[], object], folder: str) -> Walk:
    """Return what a call executes on this thread; the collector is off."""
    walk = Walk()
    prefix = f"{folder}/"

    def on_line(frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            file = frame.f_code.co_filename.removeprefix(prefix)
            walk.lines.setdefault(file, set()).add(frame.f_lineno)
        return on_line

    def on_call(frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        if code.co_name == "execute" and code.co_filename.endswith("model.py"):
            walk.stacks.append(list(_frames(frame.f_back, outermost)))
        if not code.co_filename.startswith(prefix):
            return None
        if code.co_name not in COMPREHENSIONS:
            name = code.co_filename.removeprefix(prefix), code.co_qualname
            walk.functions.add(name)
        return on_line

    outermost = sys._getframe()
    with _tracing(on_call):
        act()
    return walk


def _frames(frame: FrameType | None, outermost: FrameType) -> Iterator[FrameType]:
    while frame is not None and frame is not outermost:
        yield frame
        frame = frame.f_back


@contextlib.contextmanager
def _tracing(trace: Callable[[FrameType, str, Any], Any]) -> Iterator[None]:
    before = sys.gettrace()
    gc.collect()
    gc.disable()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
        gc.enable()
