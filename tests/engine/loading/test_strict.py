"""With strict_model_config nothing completes a configuration."""

from __future__ import annotations

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb import ModelLoadError, Server
from blsnb.parts.server_parts import parts_of

COMPLETES = cell(
    "return [reply(x_of(request))]",
    methods="""
@staticmethod
def auto_complete_config(config):
    raise ValueError("called")

""",
)


@pytest.fixture
def server():
    """A strict server."""
    with Server(strict_model_config=True) as server:
        yield server


def test_a_model_without_a_configuration_does_not_load(server):
    """Triton only logs the reason."""
    with pytest.raises(ModelLoadError) as raised:
        server.define("model", DOUBLE)

    file = parts_of(server).repository.private_root / "model" / "config.pbtxt"
    assert "failed to load 'model', failed to poll from model repository" == (
        raised.value.message
    )
    assert (
        f"failed to open text file for read {file}: No such file or directory"
        == raised.value.reason
    )
    assert "With strict_model_config every model needs a config.pbtxt." == (
        raised.value.advice
    )


def test_the_hook_that_completes_is_not_called(server):
    """No second copy is imported for it."""
    server.define("model", COMPLETES, config=CONFIG)

    assert [1] == server.infer("model", {"X": np.ones(1, np.float32)})["Y"].tolist()


def test_tensors_are_checked_when_the_repository_is_read(server):
    """The client therefore does not receive the reason."""
    with pytest.raises(ModelLoadError) as raised:
        server.define("model", DOUBLE, config='input { name: "X" dims: [ 1 ] }')

    assert "poll" == raised.value.stage
    assert "model input 'X' must specify 'data_type' for model" == raised.value.reason
