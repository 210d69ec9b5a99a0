"""The server, its models and its repository over gRPC."""

from __future__ import annotations

from typing import Any

from google.protobuf import json_format
from tritonclient.grpc import service_pb2 as wire

from blsnb.engine.request.validation import RequestError
from blsnb.parts.server_parts import ServerParts
from blsnb.serving.core.metadata import (
    FILE,
    UNLOAD_DEPENDENTS,
    index_rows,
    model_metadata,
    refuse_repository_name,
    server_is_ready,
    server_metadata,
)
from blsnb.serving.core.parameters import until_nul
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.grpc.parameters import flag
from blsnb.serving.grpc.requests import version_of


class GrpcModels:
    """Describes the server and its models, loads and unloads them."""

    def __init__(self, parts: ServerParts, shared: SharedState) -> None:
        self._parts = parts
        self._access = shared.access
        self._options = shared.options
        self._catalog = parts.engine.catalog

    def server_live(self, request: Any) -> Any:
        """Report that the server is live."""
        return wire.ServerLiveResponse(live=not self._parts.lifetime.closed)

    def server_ready(self, request: Any) -> Any:
        """Report whether all loaded models are ready."""
        ready = not self._parts.lifetime.closed
        if self._options.strict_readiness:
            ready = ready and server_is_ready(self._catalog)
        return wire.ServerReadyResponse(ready=ready)

    def server_metadata(self, request: Any) -> Any:
        """Return the server's name, version and extensions."""
        release, name = self._parts.engine.release, self._options.server_id
        return wire.ServerMetadataResponse(**server_metadata(release, name))

    def model_ready(self, request: Any) -> Any:
        """Report whether a model is ready; an unknown one is not."""
        version = version_of(request.version)
        ready = self._catalog.is_model_ready(until_nul(request.name), version)
        return wire.ModelReadyResponse(ready=ready)

    def model_metadata(self, request: Any) -> Any:
        """Return a model's versions, inputs and outputs."""
        name, version = until_nul(request.name), version_of(request.version)
        found = model_metadata(self._catalog, name, version)
        return json_format.ParseDict(found, wire.ModelMetadataResponse())

    def model_config(self, request: Any) -> Any:
        """Return the configuration of a ready model."""
        name, version = until_nul(request.name), version_of(request.version)
        served = self._catalog.find(name, version)
        text = served.config.to_dict(self._parts.engine.release)
        response = wire.ModelConfigResponse()
        json_format.ParseDict(text, response.config, ignore_unknown_fields=True)
        return response

    def model_statistics(self, request: Any) -> Any:
        """Return the statistics of a model, or of all ready ones."""
        version = version_of(request.version)
        rows = self._catalog.statistics(until_nul(request.name) or None, version)
        return json_format.ParseDict(
            {"model_stats": rows},
            wire.ModelStatisticsResponse(),
            ignore_unknown_fields=True,
        )

    def repository_index(self, request: Any) -> Any:
        """Return a row for each version of each model."""
        refuse_repository_name(request.repository_name)
        response = wire.RepositoryIndexResponse()
        for row in index_rows(self._parts, ready=request.ready):
            response.models.add(**row)
        return response

    def load(self, request: Any) -> Any:
        """Load a model, perhaps with another configuration or other files."""
        refuse_repository_name(request.repository_name)
        files = {}
        config = None
        for name, value in request.parameters.items():
            if name == "config":
                config = until_nul(_load_parameter(name, value, "string_param"))
            elif name.startswith(FILE):
                files[until_nul(name)] = _load_parameter(name, value, "bytes_param")
            else:
                text = f"unrecognized load parameter '{name}'."
                raise RequestError(until_nul(text))
        self._access.check_load(files, config)
        name = until_nul(request.model_name)
        self._parts.models.load(name, config=config, files=files)
        return wire.RepositoryModelLoadResponse()

    def unload(self, request: Any) -> Any:
        """Unload a model; unknown parameters are ignored."""
        refuse_repository_name(request.repository_name)
        value = request.parameters.get(UNLOAD_DEPENDENTS)
        dependents = value is not None and flag(value, UNLOAD_DEPENDENTS)
        name = until_nul(request.model_name)
        self._parts.models.unload(name, unload_dependents=dependents)
        return wire.RepositoryModelUnloadResponse()


def _load_parameter(name: str, value: Any, kind: str) -> Any:
    if value.WhichOneof("parameter_choice") != kind:
        raise RequestError(
            f"invalid value type for load parameter '{name}', expected {kind}."
        )
    return getattr(value, kind)
