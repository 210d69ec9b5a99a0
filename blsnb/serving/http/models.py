"""HttpModels: what is told of the server and of its models over HTTP."""

from __future__ import annotations

from blsnb.engine.request.validation import RequestError
from blsnb.parts.server_parts import ServerParts
from blsnb.serving.core import metadata
from blsnb.serving.http.answer import (
    BAD_REQUEST,
    OK,
    PLAIN,
    HttpAnswer,
    HttpRequest,
    error_answer,
    json_answer,
    not_allowed,
)


class HttpModels:
    """Answers what is asked about the server and its models.

    Parameters
    ----------
    server
        Where the models are.
    """

    def __init__(self, server: ServerParts) -> None:
        self._server = server

    def about(self, request: HttpRequest) -> HttpAnswer:
        """Return name, version and extensions of the server."""
        if request.method != "GET":
            return not_allowed()
        return json_answer(metadata.server_metadata(self._server.engine.release))

    def health(self, request: HttpRequest, kind: str) -> HttpAnswer:
        """Return whether the server lives, or is ready, by the status alone."""
        if request.method != "GET":
            return not_allowed(PLAIN)
        fine = not self._server.lifetime.closed
        if kind == "ready":
            fine = fine and metadata.server_is_ready(self._server.engine.catalog)
        return HttpAnswer(OK if fine else BAD_REQUEST, content_type=PLAIN)

    def ready(self, request: HttpRequest, name: str, version: str) -> HttpAnswer:
        """Return whether a model can serve, by the status."""
        if request.method != "GET":
            return not_allowed(PLAIN)
        try:
            number = metadata.parse_version(version)
        except RequestError as error:
            return error_answer(error.message, error.code, PLAIN)
        if self._server.engine.catalog.is_model_ready(name, number):
            return HttpAnswer(content_type=PLAIN)
        return error_answer("Model version not ready", content_type=PLAIN)

    def metadata(self, request: HttpRequest, name: str, version: str) -> HttpAnswer:
        """Return what a model takes and gives.

        Raises
        ------
        RequestError
            It does not serve; so of all that follow.
        """
        if request.method != "GET":
            return not_allowed()
        number = metadata.parse_version(version)
        found = metadata.model_metadata(self._server.engine.catalog, name, number)
        return json_answer(found)

    def config(self, request: HttpRequest, name: str, version: str) -> HttpAnswer:
        """Return the configuration that a model serves with."""
        if request.method != "GET":
            return not_allowed()
        number = metadata.parse_version(version)
        config = self._server.engine.catalog.find(name, number).config
        return json_answer(config.to_dict(self._server.engine.release))

    def statistics(
        self, request: HttpRequest, name: str | None = None, version: str = ""
    ) -> HttpAnswer:
        """Return the statistics of a model, or of all that serve."""
        if request.method != "GET":
            return not_allowed()
        number = metadata.parse_version(version)
        rows = self._server.engine.catalog.statistics(name, number)
        return json_answer({"model_stats": rows})
