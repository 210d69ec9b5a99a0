"""Metadata and repository rows of the server, for both protocols."""

from __future__ import annotations

from typing import Any

from blsnb.engine.catalog import Catalog
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.model.config import TensorSpec
from blsnb.parts.server_parts import ServerParts

EXTENSIONS = (
    "classification",
    "sequence",
    "model_repository",
    "model_repository(unload_dependents)",
    "schedule_policy",
    "model_configuration",
    "system_shared_memory",
    "cuda_shared_memory",
    "binary_tensor_data",
    "parameters",
    "statistics",
    "trace",
    "logging",
)
"""Extensions of the protocol that the server reports."""
FILE = "file:"
"""Prefix of the names of load parameters that are files."""
UNLOAD_DEPENDENTS = "unload_dependents"
_FIRST = (24, 10, 51)
"""Release 24.10 is version 2.51.0; the minor version rises every month."""
_SKIPPED = (25, 7)
"""The release of this month, 2.59.1, did not raise the minor version."""


def server_version(release: tuple[int, int]) -> str:
    """Return the version that a release of Triton reports: ``"2.51.0"``."""
    year, month, minor = _FIRST
    months = (release[0] - year) * 12 + release[1] - month
    minor += months - (release >= _SKIPPED)
    return f"2.{minor}.{int(release == _SKIPPED)}"


def server_metadata(release: tuple[int, int], name: str) -> dict[str, Any]:
    """Return name, version and extensions of the server."""
    return {
        "name": name,
        "version": server_version(release),
        "extensions": list(EXTENSIONS),
    }


def server_is_ready(catalog: Catalog) -> bool:
    """Whether no version of a model is loading, unloading or has failed.

    Unloaded versions do not count, nor those refused before their files were read.

    References
    ----------
    core: src/server.cc, InferenceServer::IsReady
    """
    return all(
        state.state == "READY" or state == ("UNAVAILABLE", "unloaded")
        for name in catalog.known_names()
        for state in catalog.current_states(name).values()
    )


def model_metadata(catalog: Catalog, name: str, version: int = -1) -> dict[str, Any]:
    """Return a model's name, versions, platform, inputs and outputs.

    The shapes are those of requests: with the batch axis, before any ``reshape``.

    References
    ----------
    core: src/tritonserver.cc, TRITONSERVER_ServerModelMetadata
    """
    served = catalog.find(name, version)
    config = served.config
    return {
        "name": name,
        "versions": [str(number) for number in sorted(catalog.versions(name))],
        "platform": config.message.platform or config.backend,
        "inputs": [_tensor(spec, served) for spec in config.inputs],
        "outputs": [_tensor(spec, served) for spec in config.outputs],
    }


def _tensor(spec: TensorSpec, served: Served) -> dict[str, Any]:
    batch = [-1] if served.config.max_batch_size > 0 else []
    shape = [*batch, *spec.dims]
    return {"name": spec.name, "datatype": spec.datatype, "shape": shape}


def refuse_repository_name(repository: str) -> None:
    """Refuse a request that names one of several repositories, as Triton does."""
    if repository:
        raise RequestError(
            "'repository_name' specification is not supported", "UNSUPPORTED"
        )


def index_rows(parts: ServerParts, *, ready: bool) -> list[dict[str, Any]]:
    """Return the rows of the index; with `ready`, only those of ready versions."""
    rows: list[dict[str, Any]] = parts.reports.index()
    return [row for row in rows if not ready or row.get("state") == "READY"]
