"""HttpRoutes: which part answers a path, as Triton's end points have them."""

from __future__ import annotations

import logging
import re

from blsnb.engine.request.validation import RequestError
from blsnb.errors import BlsnbError, InferenceError, ServerClosedError
from blsnb.parts.server_parts import ServerParts
from blsnb.serving.core.requests import STOPPING, Requests
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.core.shortage import shortage_of
from blsnb.serving.core.trace_settings import check_model
from blsnb.serving.http import memory, origin, repository, settings
from blsnb.serving.http.answer import (
    FORBIDDEN,
    PLAIN,
    HttpAnswer,
    HttpRequest,
    error_answer,
    error_body,
    not_allowed,
    not_found,
)
from blsnb.serving.http.generate import HttpGenerate
from blsnb.serving.http.infer import HttpInfer
from blsnb.serving.http.models import HttpModels

_MODEL = re.compile(
    r"/v2/models/([^/]+)(?:/versions/([0-9]+))?"
    r"(?:/(infer|generate|generate_stream|ready|config|stats|trace/setting))?"
)
_HEALTH = re.compile(r"/v2/health/(live|ready)")
_REPOSITORY = re.compile(
    r"/v2/repository(?:/([^/]+))?/(?:index|models/([^/]+)/(load|unload))"
)
_MEMORY = re.compile(
    r"/v2/(system|cuda)sharedmemory(?:/region/([^/]+))?/(status|register|unregister)"
)
_METRICS = re.compile(r"/metrics/?")
METRICS_TYPE = "text/plain; charset=utf-8"
_STOPPING = f"[request id: <id_unknown>] {STOPPING}"
_log = logging.getLogger("blsnb.serving")


class HttpRoutes:
    """Answers every request for the end point.

    Parameters
    ----------
    server
        Where the models are.
    shared
        What it has in common with other end points.

    References
    ----------
    server: src/http_server.cc, HTTPAPIServer::Handle
    """

    def __init__(self, server: ServerParts, shared: SharedState) -> None:
        self._server = server
        self._shared = shared
        requests = Requests(server)
        self._models = HttpModels(server)
        self._infer = HttpInfer(requests, shared.memory)
        self._generate = HttpGenerate(requests)

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """Return the answer to a request; every failure is one, too."""
        if origin.is_foreign(request.headers):
            return HttpAnswer(FORBIDDEN, error_body(origin.REFUSAL))
        try:
            return self._routed(request)
        except (RequestError, InferenceError) as error:
            return error_answer(error.message, error.code)
        except ServerClosedError:
            return error_answer(_STOPPING, "UNAVAILABLE")
        except BlsnbError as error:
            return error_answer(str(error))
        except Exception as error:
            if (shortage := shortage_of(error)) is not None:
                return error_answer(shortage.message, shortage.code)
            _log.exception("%s %s failed", request.method, request.path)
            return error_answer(f"unexpected error: {error!r}", "INTERNAL")

    def _routed(self, request: HttpRequest) -> HttpAnswer:
        path, shared = request.path, self._shared
        if path == "/v2":
            return self._models.about(request)
        if path == "/v2/models/stats":
            return self._models.statistics(request)
        if path == "/v2/logging":
            return settings.logging(shared.log_settings, request)
        if path == "/v2/trace/setting":
            return settings.trace(shared.trace_settings, request, "")
        if found := _HEALTH.fullmatch(path):
            return self._models.health(request, found[1])
        if found := _MODEL.fullmatch(path):
            return self._of_model(request, *found.groups(default=""))
        if found := _MEMORY.fullmatch(path):
            groups = found.groups(default="")
            return memory.answer(shared.memory, request, *groups)
        if found := _REPOSITORY.fullmatch(path):
            return self._of_repository(request, *found.groups(default=""))
        return not_found()

    def _of_repository(
        self, request: HttpRequest, name: str, model: str, action: str
    ) -> HttpAnswer:
        if not action:
            return repository.index(self._server, request)
        return repository.control(self._server, request, name, model, action)

    def _of_model(
        self, request: HttpRequest, name: str, version: str, kind: str
    ) -> HttpAnswer:
        match kind:
            case "infer":
                return self._infer.answer(request, name, version)
            case "generate" | "generate_stream":
                streaming = kind == "generate_stream"
                return self._generate.answer(
                    request, name, version, streaming=streaming
                )
            case "ready":
                return self._models.ready(request, name, version)
            case "config":
                return self._models.config(request, name, version)
            case "stats":
                return self._models.statistics(request, name, version)
            case "trace/setting":
                return not_found() if version else self._trace_of(request, name)
            case _:
                return self._models.metadata(request, name, version)

    def _trace_of(self, request: HttpRequest, name: str) -> HttpAnswer:
        if request.method in ("GET", "POST"):
            check_model(self._server.engine.catalog, name)
        return settings.trace(self._shared.trace_settings, request, name)


def metrics(server: ServerParts, request: HttpRequest) -> HttpAnswer:
    """Return the metrics page; other paths are empty pages, as on Triton.

    References
    ----------
    server: src/http_server.cc, HTTPMetricsServer::Handle
    """
    if request.method != "GET":
        return not_allowed(PLAIN)
    text = server.measurements.metrics() if _METRICS.fullmatch(request.path) else ""
    return HttpAnswer(body=text.encode(), content_type=METRICS_TYPE)
