"""Cells for the tests of the debugger."""

from __future__ import annotations

from ..models import FLOW, infer

HEAD = "import triton_python_backend_utils as pb_utils\n"
SYNC = f"""%%triton_model {{name}} {FLOW}
{HEAD}
class TritonPythonModel:
    def initialize(self, args):
        self.factor = 2

    def execute(self, requests):
        responses = []
        for request in requests:
            x = request.inputs()[0].as_numpy()
            y = pb_utils.Tensor("Y", x * self.factor)
            responses.append(pb_utils.InferenceResponse([y]))
        return responses
"""
ASYNC = SYNC.replace("    def execute", "    async def execute")
DECOUPLED = f"""%%triton_model {{name}} {FLOW} --decoupled
{HEAD}
class TritonPythonModel:
    def initialize(self, args):
        self.factor = 2

    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            y = pb_utils.Tensor("Y", request.inputs()[0].as_numpy() * self.factor)
            sender.send(pb_utils.InferenceResponse([y]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
LINE_MAGIC = SYNC.replace("%%triton_model", "%triton_model")


def line_of(cell: str, text: str) -> int:
    """Return the number of a cell's first line that contains a text."""
    lines = cell.splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


def run_of(name: str) -> str:
    """Return a cell that runs a model."""
    if name == "decoupled":
        return "import blsnb\nrun = list(blsnb.stream('decoupled', {'X': [1.0, 2.0]}))"
    return infer(name)
