"""The names of models, tensors and versions that completion offers.

They are needed at each key that completes: folders are listed and configurations in
memory read, and nothing is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from blsnb.magics import default_server as default
from blsnb.parts.server_parts import parts_of

Direction = Literal["input", "output"]


def model_names() -> list[str]:
    """Return the names of all models of the default server, sorted."""
    server = default.started()
    return [] if server is None else parts_of(server).repository.names()


def tensor_names(model: str, direction: Direction) -> list[str]:
    """Return the inputs or outputs of a model; none if it is not loaded."""
    server = default.started()
    catalog = None if server is None else parts_of(server).engine.catalog
    config = None if catalog is None else catalog.config(model)
    if config is None:
        return []
    tensors = config.inputs if direction == "input" else config.outputs
    return [tensor.name for tensor in tensors]


def all_tensor_names(direction: Direction) -> Iterator[str]:
    """Yield the inputs or outputs of all loaded models."""
    server = default.started()
    names = () if server is None else parts_of(server).engine.catalog.names()
    for model in names:
        yield from tensor_names(model, direction)


def versions(model: str) -> list[str]:
    """Return the loaded versions of a model."""
    server = default.started()
    if server is None:
        return []
    return [
        str(each) for each in sorted(parts_of(server).engine.catalog.versions(model))
    ]
