"""HTTP requests of conformance tests to Triton and to blsnb."""

from __future__ import annotations

import http.client
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from blsnb.inference_server import Server
from blsnb.parity.triton.environment import installed
from blsnb.parity.triton.server_process import TritonServer
from blsnb.parts.server_parts import parts_of
from blsnb.serving.access import Access
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.endpoint import HttpEndpoint, MetricsEndpoint

from .targets import REPOSITORIES, Target
from .triton_target import MORTAL

CALL_S = 120.0
LENGTH = "Inference-Header-Content-Length"
_SAID = ("Content-Encoding", "Accept-Encoding", LENGTH)
HOST = "127.0.0.1"


class Ask(NamedTuple):
    """A request over HTTP.

    Parameters
    ----------
    body
        Bytes; or a value, sent as JSON; or None for no body.
    verb
        What is usual with or without a body if empty.
    tail
        Bytes after the JSON text, whose length is then told.
    """

    path: str
    body: Any = None
    verb: str = ""
    headers: Mapping[str, str] = {}
    tail: bytes = b""

    def encoded(self) -> tuple[bytes | None, dict[str, str]]:
        """Return body and headers."""
        body = self.body
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if not self.tail:
            return body, dict(self.headers)
        return body + self.tail, {LENGTH: str(len(body)), **self.headers}


@dataclass
class End:
    """An HTTP end point of a server that has some of the sample models."""

    port: int
    metrics_port: int
    repository: Path
    close: Callable[[], None]
    lives: Callable[[], bool] = lambda: True
    _there: set[str] = field(default_factory=set)

    def ask(self, ask: Ask, port: int = 0) -> list[Any]:
        """Return status, content type and body; the value of a JSON body."""
        body, headers = ask.encoded()
        verb = ask.verb or ("GET" if body is None else "POST")
        connection = http.client.HTTPConnection(HOST, port or self.port, timeout=CALL_S)
        try:
            connection.request(verb, ask.path, body, headers)
            reply = connection.getresponse()
            data = reply.read()
        finally:
            connection.close()
        told = {name: reply.headers[name] for name in _SAID if name in reply.headers}
        length = int(told.get(LENGTH, len(data)))
        said = [reply.status, reply.headers["Content-Type"], self._value(data[:length])]
        return [*said, *([told] if told else []), *_rest(data[length:])]

    def _value(self, data: bytes) -> Any:
        text = data.decode("latin-1").replace(str(self.repository), "<repo>")
        try:
            return json.loads(text)
        except ValueError:
            # Packed bodies, events: two servers may pack differently.
            return text if text.isprintable() or "data:" in text else "<bytes>"

    def each(self, asks: Sequence[Ask]) -> list[Any]:
        """Return the responses to requests, in order."""
        return [self.ask(each) for each in asks]

    def have(self, *models: str) -> End:
        """Load models that are not loaded yet."""
        for model in models:
            if model not in self._there:
                self.place(model)
                status, *said = self.ask(
                    Ask(f"/v2/repository/models/{model}/load", b"")
                )
                assert status == http.client.OK, said
                self._there.add(model)
        return self

    def anew(self, model: str) -> End:
        """Load a model; its counts begin at zero, whatever it was asked before."""
        if model in self._there:
            self.ask(Ask(f"/v2/repository/models/{model}/unload", b""))
            self.forget(model)
        return self.have(model)

    @property
    def key(self) -> str:
        """Return a unique name for a shared memory object."""
        return f"blsnb-test-{self.port}"

    def write(self, model: str, config: str, source: str) -> None:
        """Write a model and load it."""
        version = self.repository / model / "1"
        version.mkdir(parents=True, exist_ok=True)
        (version / "model.py").write_text(source)
        (version.parent / "config.pbtxt").write_text(config)
        self.have(model)

    def forget(self, model: str) -> None:
        """Note that a model is no longer loaded."""
        self._there.discard(model)

    def place(self, model: str) -> None:
        """Copy a model's folder."""
        ignore = shutil.ignore_patterns("__pycache__")
        folder = self.repository / model
        if not folder.exists():
            shutil.copytree(REPOSITORIES / model, folder, ignore=ignore)


def _rest(data: bytes) -> list[str]:
    return [data.hex()] if data else []


def end_of(target: Target, folder: Path) -> End:
    """Start a server of a target's kind, in a folder of its own."""
    repository = folder / f"{target.name}-models"
    repository.mkdir()
    return _ours(repository) if target.name == "blsnb" else _real(repository)


def _ours(repository: Path) -> End:
    server = Server(
        model_repository=repository, triton_release="24.10", strict_model_config=True
    )
    shared = SharedState(parts_of(server), Access(allow_load_files=True))
    http_end = HttpEndpoint(parts_of(server), shared, HOST, 0)
    metrics = MetricsEndpoint(parts_of(server), shared.access, HOST, 0)

    def close() -> None:
        http_end.close(1)
        metrics.close(1)
        server.close()

    return End(http_end.port, metrics.port, repository, close)


def _real(repository: Path) -> End:
    env = installed()
    assert env is not None
    log = repository.parent / "http.log"
    server = TritonServer(env, repository, log, MORTAL)
    return End(
        server.http_port,
        server.metrics_port,
        repository,
        server.close,
        lambda: server.alive,
    )
