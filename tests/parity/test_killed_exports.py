"""A real Triton loads a repository whose export was killed."""

from __future__ import annotations

import killed_exports
import pytest
from tritonclient.grpc import service_pb2 as pb

from blsnb.parity.triton.server_process import TritonServer

pytestmark = pytest.mark.triton_server
EVERYTHING = ["--load-model=*", "--disable-auto-complete-config"]


def is_ready(server, name):
    """Whether a model is ready on a real server."""
    return server.stub.ModelReady(pb.ModelReadyRequest(name=name), timeout=30).ready


@pytest.mark.parametrize(
    "share",
    [
        0.4,
        0.6,
        *(
            pytest.param(number / 20, marks=pytest.mark.slow)
            for number in range(20)
            if number not in (8, 12)
        ),
    ],
)
def test_every_model_is_served(real, tmp_path, share, figures):
    """All models are loaded at start; one that fails would end the server."""
    target = tmp_path / "beside" / "out"
    target.mkdir(parents=True)
    where = killed_exports.run(target, "exchange", share=share)
    assert where.strip()

    server = TritonServer(real, target, tmp_path / "log", EVERYTHING)
    try:
        ready = [name for name in killed_exports.MODELS if is_ready(server, name)]
        assert list(killed_exports.MODELS) == ready
        figures(kills=1, models_served_by_triton=len(ready))
    finally:
        server.close()
