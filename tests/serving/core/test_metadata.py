"""Metadata of the server and its models, for both protocols."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb.engine.refusals import parse_version
from blsnb.engine.request.validation import RequestError
from blsnb.errors import ModelLoadError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.core.metadata import (
    model_metadata,
    server_is_ready,
    server_version,
)


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ((24, 10), "2.51.0"),
        ((25, 1), "2.54.0"),
        ((25, 6), "2.59.0"),
        ((25, 7), "2.59.1"),
        ((25, 8), "2.60.0"),
        ((26, 7), "2.71.0"),
    ],
)
def test_the_version_of_a_release(release: tuple[int, int], version: str) -> None:
    """The server of that release reports the same."""
    assert version == server_version(release)


def test_a_server_is_ready_unless_a_model_failed(server: Server) -> None:
    """Unloaded models do not count."""
    assert server_is_ready(parts_of(server).engine.catalog)
    server.define("double", DOUBLE, config=CONFIG)
    server.unload("double")
    assert server_is_ready(parts_of(server).engine.catalog)

    broken = cell("pass", methods="def initialize(self, args):\n    raise ValueError")
    server.define("double", DOUBLE, config=CONFIG)
    folder = parts_of(server).repository.directory("double")
    (folder.path / "1" / "model.py").write_text(broken)
    server.unload("double")
    with pytest.raises(ModelLoadError):
        server.load("double")
    assert not server_is_ready(parts_of(server).engine.catalog)


def test_the_shape_of_a_batching_model_has_the_batch_axis(server: Server) -> None:
    """Requests must have it."""
    server.define("double", DOUBLE, config=f"{CONFIG} max_batch_size: 4")

    (given,) = model_metadata(parts_of(server).engine.catalog, "double")["inputs"]
    assert {"name": "X", "datatype": "FP32", "shape": [-1, -1]} == given


@pytest.mark.parametrize("text", ["abc", "-2", "9" * 30, "9" * 5000])
def test_an_invalid_version_is_refused(text: str) -> None:
    """A version that is too long for Python is refused, too."""
    with pytest.raises(RequestError, match="failed to get model version"):
        parse_version(text)
