"""The tutorials' models on the real server: they load as they are, and answer so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asserting import some
from conformance.reference import real_environment
from tritonclient.grpc import service_pb2 as wire

import blsnb
from blsnb.parity.packages import provide
from blsnb.parity.triton.server_process import TritonServer

from .test_tutorials import TUTORIALS

LOAD_S = 120
# Another NumPy, another release of ONNX Runtime: the last digits may differ.
NEAR = {"rtol": 1e-3, "atol": 1e-4}
# A request of the tutorial on errors fails and leaves no run.
ERRORS = {
    "03_errors": [
        ("double", np.array([1, 2], np.float32)),
        ("double", np.zeros(3)),
        ("careless", np.ones(3, np.float32)),
        ("careful", np.ones(3, np.float32)),
        ("countdown", np.zeros(1, np.float32)),
    ]
}

pytestmark = [
    pytest.mark.triton_server,
    pytest.mark.notebook,
    pytest.mark.slow,
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Return an empty folder, into which a test links its models."""
    return tmp_path_factory.mktemp("real") / "models"


@pytest.fixture(scope="module")
def real(repository) -> Iterator[TritonServer]:
    """The installed server, without models."""
    env = real_environment()
    repository.mkdir()
    server = TritonServer(env, repository, repository.parent / "log")
    try:
        yield server
    finally:
        server.close()


@contextmanager
def loaded(real: TritonServer, repository: Path, models: Path) -> Iterator[list[str]]:
    """Load the models that a tutorial exported, and unload them in the end."""
    folders = sorted(each for each in models.iterdir() if each.is_dir())
    provide(real_environment(), folders, may_install=True, report=print)
    try:
        # A load of an ensemble looks for the models of its steps.
        for folder in folders:
            (repository / folder.name).symlink_to(folder)
        for folder in folders:
            load = wire.RepositoryModelLoadRequest(model_name=folder.name)
            real.stub.RepositoryModelLoad(load, timeout=LOAD_S)
        yield [folder.name for folder in folders]
    finally:
        for folder in folders:
            unload = wire.RepositoryModelUnloadRequest(model_name=folder.name)
            real.stub.RepositoryModelUnload(unload, timeout=LOAD_S)
            (repository / folder.name).unlink(missing_ok=True)


@pytest.mark.parametrize("name", TUTORIALS)
def test_its_models_load_unchanged_and_respond_equally(
    executed, real, repository, name
):
    """The named runs of the tutorial are repeated on both servers."""
    done = executed(name)
    address = f"grpc://127.0.0.1:{real.grpc_port}"
    with (
        loaded(real, repository, done.models) as models,
        blsnb.Server(triton_release="24.10") as ours,
    ):
        assert models
        ours.import_repository(done.models)
        for model, inputs in some(requests(name, done.runs)):
            parity = ours.compare(model, inputs, target=address, **NEAR)
            assert parity.agree, str(parity)


def requests(name: str, runs: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the recorded client requests of a tutorial."""
    if name in ERRORS:
        return [(model, {"X": x}) for model, x in ERRORS[name]]
    recorded = [blsnb.load_run(path) for path in sorted(runs.iterdir())]
    assert recorded
    return [
        (run.model_name, {ref.name: ref.view() for ref in run.trace.spans[0].inputs})
        for run in recorded
    ]
