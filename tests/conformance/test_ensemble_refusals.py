"""The texts of `tests/model` for refused ensembles are those of the real server.

Only the real server is asked here; that blsnb's rules have the same texts is tested
where they are, with the same data.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import grpc
import pytest
from model.dependency_refusals import CREATE, KNOWN_BEFORE, LOADED
from model.ensemble_refusals import POLL
from model.ensembles import BOOM, DECOUPLED_OR_NOT, PLAIN, Refused
from tritonclient.grpc import service_pb2 as pb

from .triton_target import CALL_S, TritonTarget

pytestmark = pytest.mark.triton_server
NOT_POLLED = "failed to load 'm', failed to poll from model repository"
LOGGED = re.compile(r"Poll failed for model directory 'm': (.*)\"$", re.MULTILINE)


class Repository:
    """Models written for one case, and gone after it."""

    def __init__(self, target: TritonTarget) -> None:
        self._target = target
        self._names: list[str] = []

    def write(self, models: Mapping[str, str], failing: tuple[str, ...] = ()) -> None:
        for name, text in models.items():
            self._names.append(name)
            version = self._target.repository / name / "1"
            version.mkdir(parents=True)
            (version.parent / "config.pbtxt").write_text(text)
            if "'ensemble'" not in text:
                source = BOOM if name in failing else PLAIN
                (version / "model.py").write_text(source)

    def load(self) -> tuple[str, str]:
        """Load `m`; return what the client is told and what the log says."""
        log: Path = self._target.server.log
        before = log.stat().st_size
        request = pb.RepositoryModelLoadRequest(model_name="m")
        answer = ""
        try:
            self._target.server.stub.RepositoryModelLoad(request, timeout=CALL_S)
        except grpc.RpcError as error:
            answer = self._target.normalised(error.details() or "")
        logged = LOGGED.search(log.read_bytes()[before:].decode())
        # The log is JSON-like: quotes are escaped.
        return answer, logged[1].replace("\\'", "'") if logged else ""

    def clear(self) -> None:
        for name in self._names:
            self._target.unload(name)
            shutil.rmtree(self._target.repository / name, ignore_errors=True)


@pytest.fixture
def repository(triton: TritonTarget | None) -> Iterator[Repository]:
    if triton is None:
        pytest.skip("no real Triton server here")
    written = Repository(triton)
    yield written
    written.clear()


def rows(refusals: tuple[Refused, ...]) -> pytest.MarkDecorator:
    names = [refused.row for refused in refusals]
    return pytest.mark.parametrize("refused", refusals, ids=names)


@rows(POLL)
def test_refused_at_the_poll_stage(repository: Repository, refused: Refused) -> None:
    """The client is told nothing, the log has the reason."""
    repository.write(refused.models)

    assert (NOT_POLLED, refused.reason) == repository.load()


@rows(KNOWN_BEFORE)
def test_refused_before_anything_is_loaded(
    repository: Repository, refused: Refused
) -> None:
    """The client is told the reason, without a version."""
    repository.write(refused.models, refused.failing)

    assert f"load failed for model 'm': {refused.reason}\n" == repository.load()[0]


@pytest.mark.slow
@rows(LOADED)
def test_refused_at_the_dependency_stage(
    repository: Repository, refused: Refused
) -> None:
    """As before, after all models are tried."""
    repository.write(refused.models, refused.failing)

    assert f"load failed for model 'm': {refused.reason}\n" == repository.load()[0]


@pytest.mark.slow
@rows(CREATE)
def test_refused_at_the_create_stage(repository: Repository, refused: Refused) -> None:
    """The client is told the reason, and of which version."""
    repository.write(refused.models)

    assert (
        "load failed for model 'm': version 1 is at UNAVAILABLE state: Invalid "
        f"argument: {refused.reason};\n"
    ) == repository.load()[0]


@pytest.mark.slow
@pytest.mark.parametrize("case", DECOUPLED_OR_NOT)
def test_whether_it_is_decoupled(
    repository: Repository, triton: TritonTarget, case: str
) -> None:
    """The real server's configuration says what the rules say."""
    decoupled, text, models = DECOUPLED_OR_NOT[case]
    repository.write({"m": text, **models})

    assert ("", "") == repository.load()
    policy = f'"model_transaction_policy":{{"decoupled":{str(decoupled).lower()}}}}}'
    assert triton.config("m").endswith(policy)
