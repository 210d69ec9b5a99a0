"""Models of a case, which record executions and wait on request."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from waiting import until

from .asking import tensor
from .targets import Answer, Failure, Request, Target

WAIT_S = 100.0
PAUSE_S = 0.002
NUMBERS = itertools.count(1)

ACCOUNT = """
import json
import os
import threading

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.notes = config["parameters"]["notes"]["string_value"]
        self.instance = args["model_instance_name"]

    def execute(self, requests):
        self.note([self.seen(request) for request in requests])
        for request in requests:
            if request.request_id().startswith("hold"):
                self.wait_for(f"{request.request_id()}.go")
        return self.answer(requests)

    def note(self, seen):
        with open(os.path.join(self.notes, "calls"), "a") as file:
            file.write(json.dumps([self.instance, seen]) + chr(10))

    def wait_for(self, name):
        for _ in range(50_000):
            if os.path.exists(os.path.join(self.notes, name)):
                return
            threading.Event().wait(0.002)

    def seen(self, request):
        inputs = {}
        for tensor in request.inputs():
            array = tensor.as_numpy()
            known = request.request_id() or tensor.name() != "X"
            values = array.tolist() if known else None
            inputs[tensor.name()] = [str(array.dtype), list(array.shape), values]
        fields = [request.request_id(), request.correlation_id(), request.flags()]
        return [*fields, dict(sorted(inputs.items()))]

    def answer(self, requests):
        return [self.reply(request) for request in requests]

    def reply(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        y = np.zeros([*x.shape[:-1], 1], np.int32)
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", y)])
"""
CONFIG = """
backend: "python"
max_batch_size: {size}
input {{ name: "X" data_type: TYPE_INT32 dims: [ {dims} ] {ragged} }}
output {{ name: "Y" data_type: TYPE_INT32 dims: [ 1 ] }}
parameters {{ key: "notes" value {{ string_value: "{notes}" }} }}
{more}
"""


def write(
    target: Target,
    name: str,
    config: str | None,
    source: str | bytes | None = None,
    files: Mapping[str, bytes] | None = None,
) -> None:
    """Write a model's folder into a repository of the target."""
    folder: Path = target.repository / name  # type: ignore[attr-defined]
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "1").mkdir(parents=True)
    if config is not None:
        (folder / "config.pbtxt").write_text(config)
    if source is not None:
        code = source.encode() if isinstance(source, str) else source
        (folder / "1" / "model.py").write_bytes(code)
    for path, content in (files or {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


class Scene:
    """One model, its clients one after another, and its executions.

    A request whose id begins with ``hold`` keeps its instance busy until `go`.

    Parameters
    ----------
    more
        Fields of the configuration besides the tensors: the scheduler.
    size
        Its ``max_batch_size``.
    """

    def __init__(
        self,
        target: Target,
        name: str,
        more: str,
        *,
        size: int = 8,
        dims: str = "1",
        ragged: str = "",
        source: str = ACCOUNT,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        self.target = target
        self.name = name
        self.notes = Path(tempfile.mkdtemp(prefix="blsnb-scene-"))
        config = CONFIG.format(
            size=size, dims=dims, ragged=ragged, notes=self.notes, more=more
        )
        self.size = size
        self.futures: dict[str, Future[Any]] = {}
        self._pool = ThreadPoolExecutor(64)
        write(target, name, config, source, files)
        self.failure: Failure | None = target.load(name)

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.futures:
            if name.startswith("hold"):
                self.go(name)
        self._pool.shutdown()
        self.target.unload(self.name, wait=False)
        shutil.rmtree(self.notes)

    def ask(
        self,
        id: str,
        *,
        rows: int = 1,
        width: int = 1,
        z: bool = False,
        stream: bool = False,
        deadline_s: float = WAIT_S,
        **parameters: bool | int | str,
    ) -> Future[Any]:
        """Send a request, and wait until it waits, is executed, or was refused."""
        shape = [rows, width] if self.size else [width]
        x = tensor([[1] * width] * rows if self.size else [1] * width, "int32")
        assert list(x.shape) == shape
        inputs = [("X", x), *([("Z", x)] if z else [])]
        request = Request(
            self.name, inputs, id=id, parameters=parameters, deadline_s=deadline_s
        )
        send = self.target.stream if stream else self.target.infer
        self.futures[id] = self._pool.submit(send, request)
        until(lambda: self._arrived() >= len(self.futures))
        return self.futures[id]

    def hold(self, id: str = "hold", **given: Any) -> Future[Any]:
        """Keep an instance busy."""
        future = self.ask(id, **given)
        until(lambda: id in self.executed())
        return future

    def go(self, id: str = "hold") -> None:
        """Let the instance continue."""
        (self.notes / f"{id}.go").touch()

    def over(self, *ids: str) -> dict[str, Any]:
        """Wait for responses; return the requests with an error."""
        answers = {id: self.futures[id].result(WAIT_S) for id in ids or self.futures}
        return {id: said for id, answer in answers.items() if (said := error(answer))}

    def _arrived(self) -> int:
        """How many requests were seen: they wait, were executed, or refused."""
        # Null requests are batched with them; they have no id.
        executed = set(self.executed()) & set(self.futures)
        refused = {
            id
            for id, future in self.futures.items()
            if future.done() and id not in executed
        }
        return len(executed | refused) + self.pending()

    def pending(self) -> int:
        """How many requests wait."""
        # Labels of tags may stand before the model.
        found = re.findall(
            rf'^nv_inference_pending_request_count{{.*model="{self.name}".*}} (\S+)',
            self.target.metrics(),
            re.MULTILINE,
        )
        return sum(round(float(each)) for each in found)

    def calls(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield each execution: its instance and its requests."""
        path = self.notes / "calls"
        for line in path.read_text().splitlines() if path.exists() else ():
            instance, seen = json.loads(line)
            yield instance, seen

    def executed(self) -> list[str]:
        """Return the ids of all requests that were executed, in order."""
        return [id for ids in self.groups() for id in ids]

    def groups(self) -> list[list[str]]:
        """Return the ids of each execution."""
        return [[request[0] for request in seen] for _, seen in self.calls()]

    def forget(self) -> list[list[str]]:
        """Return the groups so far, of requests that are over; then begin anew."""
        groups = self.groups()
        (self.notes / "calls").unlink(missing_ok=True)
        self.futures.clear()
        return groups


def error(answer: Answer | list[Answer]) -> Any:
    """Return the error of a response, or the first error of a stream."""
    for each in answer if isinstance(answer, list) else [answer]:
        if each.error is not None:
            return list(each.error)
    return None


def pause(seconds: float) -> None:
    """Let time pass that only the server's clock knows of."""
    time.sleep(seconds)
