"""A backend of another package, installed for a test."""

from __future__ import annotations

from pathlib import Path

SOURCE = """
import stage
from blsnb.errors import BackendError
from blsnb.pb_utils.message import ResponseMessage
from blsnb.tensors.ref import TensorRef


class Echo:
    def complete(self, config, version):
        message = config.message
        stage.seen.append(f"complete {version.name}")
        if not message.input:
            message.input.add(name="X", data_type="TYPE_FP32", dims=[-1])
            message.output.add(name="Y", data_type="TYPE_FP32", dims=[-1])
        message.parameters["dropped"].string_value = "as on Triton"
        return type(config).of(message)

    def instance(self, config, spec, version):
        if "refused" in config.parameters:
            raise BackendError("echo cannot", "UNSUPPORTED", "Say nothing.")
        if "faulty" in config.parameters:
            raise ValueError("echo is faulty")
        return EchoInstance(spec.name, config.decoupled)


class EchoInstance:
    def __init__(self, name, decoupled):
        self.name, self.decoupled = name, decoupled
        stage.seen.append(f"made {name}")

    def execute(self, requests):
        stage.seen.append(f"executes {len(requests)}")
        if any(request.fields.request_id == "raise" for request in requests):
            raise BackendError("echo fails", "UNAVAILABLE")
        if any(request.fields.request_id == "fault" for request in requests):
            1 / 0
        return [self.answers(request) for request in requests]

    def answers(self, request):
        [x] = request.inputs
        y = TensorRef("Y", x.dtype, x.shape, x.data)
        yield ResponseMessage((y,), parameters={"by": self.name})
        if request.fields.request_id == "late":
            raise BackendError("too much", "INTERNAL")
        if self.decoupled:
            yield ResponseMessage((y,))

    def finalize(self):
        stage.seen.append(f"finalized {self.name}")
"""


def install(folder: Path, entry: str = "third_party_echo:Echo") -> None:
    """Write the backend ``echo`` as an installed distribution."""
    (folder / "third_party_echo.py").write_text(SOURCE)
    known = folder / "third_party_echo-1.0.dist-info"
    known.mkdir()
    (known / "METADATA").write_text("Name: third-party-echo\nVersion: 1.0\n")
    (known / "entry_points.txt").write_text(f"[blsnb.backends]\necho = {entry}\n")
