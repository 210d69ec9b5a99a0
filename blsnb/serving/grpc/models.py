"""Models over gRPC: what they are, how they fare, and which serve."""

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
from blsnb.serving.grpc.requests import version_of


class GrpcModels:
    """Answers calls that ask for models, or change which of them serve.

    Parameters
    ----------
    server
        Where they are.
    """

    def __init__(self, server: ServerParts) -> None:
        self._server = server
        self._catalog = server.engine.catalog

    def server_live(self, asked: Any) -> Any:
        """Say that the server answers."""
        return wire.ServerLiveResponse(live=not self._server.lifetime.closed)

    def server_ready(self, asked: Any) -> Any:
        """Say whether all models that were loaded serve."""
        ready = not self._server.lifetime.closed and server_is_ready(self._catalog)
        return wire.ServerReadyResponse(ready=ready)

    def server_metadata(self, asked: Any) -> Any:
        """Return name, version and extensions."""
        return wire.ServerMetadataResponse(
            **server_metadata(self._server.engine.release)
        )

    def model_ready(self, asked: Any) -> Any:
        """Say whether a model serves; an unknown one does not."""
        version = version_of(asked.version)
        ready = self._catalog.is_model_ready(asked.name, version)
        return wire.ModelReadyResponse(ready=ready)

    def model_metadata(self, asked: Any) -> Any:
        """Return a model's versions, inputs and outputs."""
        found = model_metadata(self._catalog, asked.name, version_of(asked.version))
        return json_format.ParseDict(found, wire.ModelMetadataResponse())

    def model_config(self, asked: Any) -> Any:
        """Return the configuration with which a model serves."""
        served = self._catalog.find(asked.name, version_of(asked.version))
        text = served.config.to_dict(self._server.engine.release)
        response = wire.ModelConfigResponse()
        json_format.ParseDict(text, response.config, ignore_unknown_fields=True)
        return response

    def model_statistics(self, asked: Any) -> Any:
        """Return the counts of a model, or of all that serve."""
        version = version_of(asked.version)
        rows = self._catalog.statistics(asked.name or None, version)
        return json_format.ParseDict(
            {"model_stats": rows},
            wire.ModelStatisticsResponse(),
            ignore_unknown_fields=True,
        )

    def repository_index(self, asked: Any) -> Any:
        """Return a row for each version of each model."""
        refuse_repository_name(asked.repository_name)
        response = wire.RepositoryIndexResponse()
        for row in index_rows(self._server, ready=asked.ready):
            response.models.add(**row)
        return response

    def load(self, asked: Any) -> Any:
        """Load a model, with what takes the place of its configuration or files."""
        refuse_repository_name(asked.repository_name)
        files = {}
        config = None
        for name, given in asked.parameters.items():
            if name == "config":
                config = _load_parameter(name, given, "string_param")
            elif name.startswith(FILE):
                files[name] = _load_parameter(name, given, "bytes_param")
            else:
                raise RequestError(f"unrecognized load parameter '{name}'.")
        self._server.models.load(asked.model_name, config=config, files=files)
        return wire.RepositoryModelLoadResponse()

    def unload(self, asked: Any) -> Any:
        """Let a model serve no more; parameters that are unknown change nothing."""
        refuse_repository_name(asked.repository_name)
        dependents = False
        given = asked.parameters.get(UNLOAD_DEPENDENTS)
        if given is not None:
            if given.WhichOneof("parameter_choice") != "bool_param":
                raise RequestError(
                    f"invalid value type for '{UNLOAD_DEPENDENTS}' parameter, expected "
                    "bool_param."
                )
            dependents = given.bool_param
        self._server.models.unload(asked.model_name, unload_dependents=dependents)
        return wire.RepositoryModelUnloadResponse()


def _load_parameter(name: str, given: Any, kind: str) -> Any:
    if given.WhichOneof("parameter_choice") != kind:
        raise RequestError(
            f"invalid value type for load parameter '{name}', expected {kind}."
        )
    return getattr(given, kind)
