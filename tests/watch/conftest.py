"""A real server that sends its spans here."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import waiting
from cells import CONFIG, DOUBLE, calling, cell
from conformance.reference import real_environment

from blsnb.otlp.assembly import Outline
from blsnb.parity.triton.server_process import TritonServer
from blsnb.watch.watch import Watch, receive, server_flags

TRACED = cell("""
return [reply(answer_of(ask("double", request, trace=request.trace()).exec()))]
""")
MODELS = {
    "double": DOUBLE,
    "pipeline": TRACED,
    "untraced": calling("double"),
    "bad": cell("raise ValueError('no luck')"),
}


class Real(NamedTuple):
    """A real server, and the watch that receives its spans."""

    server: TritonServer
    watch: Watch

    @property
    def url(self) -> str:
        """Address of its HTTP port."""
        return f"http://127.0.0.1:{self.server.http_port}"

    def infer(self, model: str, request_id: str, **headers: str) -> int:
        """Send a request over HTTP; return the status."""
        tensor = {"name": "X", "datatype": "FP32", "shape": [2], "data": [1, 2]}
        body = json.dumps({"id": request_id, "inputs": [tensor]})
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.server.http_port, timeout=60
        )
        try:
            connection.request("POST", f"/v2/models/{model}/infer", body, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    def wait(self, *request_ids: str) -> list[Outline]:
        """Return the requests with these ids, once they have arrived."""
        found: dict[str, Outline] = {}

        def arrived() -> bool:
            complete = [each for each in self.watch.requests if each.is_complete]
            found.update({each.request_id: each for each in complete})
            return set(request_ids) <= found.keys()

        assert waiting.until(arrived)
        return [found[each] for each in request_ids]


def write(folder: Path) -> None:
    """Write the models into a repository."""
    for name, source in MODELS.items():
        (folder / name / "1").mkdir(parents=True)
        plain = source.replace("import stage\n", "")
        (folder / name / "1" / "model.py").write_text(plain)
        (folder / name / "config.pbtxt").write_text(f'backend: "python"\n{CONFIG}')


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """A real server with the flags that a watch prints."""
    env = real_environment()
    folder = tmp_path_factory.mktemp("watch")
    write(folder / "models")
    with receive(port=0) as watch:
        assert watch.receiver is not None
        flags = server_flags(watch.receiver.url())
        # The configurations are complete: no process has to complete them.
        flags += ["--disable-auto-complete-config"]
        flags += [f"--load-model={name}" for name in MODELS]
        server = TritonServer(env, folder / "models", folder / "log", flags)
        try:
            yield Real(server, watch)
        finally:
            server.close()
