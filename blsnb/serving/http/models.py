"""The server, its models and its repository over HTTP."""

from __future__ import annotations

import base64
import string
from collections.abc import Callable
from functools import partial

from blsnb.engine.refusals import parse_version
from blsnb.engine.request.validation import RequestError
from blsnb.errors import ModelLoadError, RepositoryError
from blsnb.parts.server_parts import ServerParts
from blsnb.pb_utils.compiled.releases import has
from blsnb.serving.core import metadata
from blsnb.serving.core.metadata import (
    FILE,
    UNLOAD_DEPENDENTS,
    index_rows,
    refuse_repository_name,
)
from blsnb.serving.core.parameters import until_nul
from blsnb.serving.core.serving_options import ServingOptions
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http import json_values
from blsnb.serving.http.json_body import Json, parse
from blsnb.serving.http.messages import (
    BAD_REQUEST,
    OK,
    PLAIN,
    HttpRequest,
    HttpResponse,
    error_response,
    json_response,
)

_ALPHABET = (string.ascii_letters + string.digits + "+/").encode()
_NOT_BASE64 = bytes(set(range(256)).difference(_ALPHABET))
_GROUP = 4


class HttpModels:
    """Describes the server and its models."""

    def __init__(self, parts: ServerParts, options: ServingOptions) -> None:
        self._parts = parts
        self._options = options

    def about(self, request: HttpRequest) -> HttpResponse:
        """Return the server's name, version and extensions."""
        release, name = self._parts.engine.release, self._options.server_id
        return json_response(metadata.server_metadata(release, name))

    def health(self, request: HttpRequest, kind: str) -> HttpResponse:
        """Report with the status alone whether the server is live or ready."""
        healthy = not self._parts.lifetime.closed
        if kind == "ready" and self._options.strict_readiness:
            healthy = healthy and metadata.server_is_ready(self._parts.engine.catalog)
        return HttpResponse(OK if healthy else BAD_REQUEST, content_type=PLAIN)

    def ready(self, request: HttpRequest, model: str, version: str) -> HttpResponse:
        """Report with the status whether a model is ready."""
        try:
            number = parse_version(version)
        except RequestError as error:
            return error_response(error.message, error.code, PLAIN)
        if self._parts.engine.catalog.is_model_ready(model, number):
            return HttpResponse(content_type=PLAIN)
        return error_response("Model version not ready", content_type=PLAIN)

    def metadata(self, request: HttpRequest, model: str, version: str) -> HttpResponse:
        """Return a model's inputs and outputs."""
        number = parse_version(version)
        found = metadata.model_metadata(self._parts.engine.catalog, model, number)
        return json_response(found)

    def config(self, request: HttpRequest, model: str, version: str) -> HttpResponse:
        """Return the configuration of a ready model."""
        number = parse_version(version)
        config = self._parts.engine.catalog.find(model, number).config
        return json_response(config.to_dict(self._parts.engine.release))

    def statistics(
        self, request: HttpRequest, model: str | None = None, version: str = ""
    ) -> HttpResponse:
        """Return the statistics of a model, or of all ready ones."""
        number = parse_version(version)
        rows = self._parts.engine.catalog.statistics(model, number)
        return json_response({"model_stats": rows})


class HttpRepository:
    """Lists the models of the repository, loads and unloads them."""

    def __init__(self, parts: ServerParts, shared: SharedState) -> None:
        self._parts = parts
        self._access = shared.access
        self._rules = shared.rules

    def _parse(self, body: bytes) -> Json:
        if not body:
            return {}
        self._rules.check_json_size(len(body))
        return parse(body)

    def index(self, request: HttpRequest, repository: str) -> HttpResponse:
        """Return the rows of the index; all repositories have the same one."""
        document = self._parse(request.body)
        value = document["ready"] if json_values.has(document, "ready") else False
        try:
            ready = json_values.as_boolean(value)
        except RequestError as error:
            if not has("index_ready_type", self._rules.release):
                raise
            raise RequestError(error.message) from None
        return json_response(index_rows(self._parts, ready=ready))

    def load(self, request: HttpRequest, repository: str, model: str) -> HttpResponse:
        """Load a model, perhaps with another configuration or other files."""
        refuse_repository_name(repository)
        config: str | None = None
        files: dict[str, bytes] = {}
        document = self._parse(request.body)
        has_any = json_values.has(document, "parameters")
        parameters = document["parameters"] if has_any else {}
        for name in map(until_nul, json_values.members(parameters)):
            text = json_values.as_text(json_values.member(parameters, name))
            if name == "config":
                config = text
            elif name.startswith(FILE):
                files[name] = decode_base64(text)
            else:
                raise RequestError(
                    "unexpected error on creating Triton parameter", "INTERNAL"
                )
        self._access.check_load(files, config)
        load = partial(self._parts.models.load, model, config=config, files=files)
        return _controlled(model, load)

    def unload(self, request: HttpRequest, repository: str, model: str) -> HttpResponse:
        """Unload a model."""
        refuse_repository_name(repository)
        dependents = _unloads_dependents(request.body)
        unload = self._parts.models.unload
        return _controlled(model, partial(unload, model, unload_dependents=dependents))


def _controlled(model: str, control: Callable[[], object]) -> HttpResponse:
    try:
        control()
    except ModelLoadError as error:
        return error_response(error.message, error.code)
    except RepositoryError:
        # No folder can have this name.
        text = f"failed to load '{model}', failed to poll from model repository"
        return error_response(text, "INTERNAL")
    return HttpResponse()


def _unloads_dependents(body: bytes) -> bool:
    """Whether dependent models are unloaded, too; an invalid body counts as no."""
    try:
        document: Json = parse(body)
    except RequestError:
        return False
    parameters = json_values.find(document, "parameters")
    return json_values.find(parameters, UNLOAD_DEPENDENTS) is True


def decode_base64(text: str) -> bytes:
    """Decode base64 as libb64 does: characters outside the alphabet are ignored.

    References
    ----------
    libb64: src/cdecode.c, base64_decode_block
    """
    # A regular expression would make an object for each ignored character.
    letters = text.encode("utf-8", "surrogateescape").translate(None, _NOT_BASE64)
    over = len(letters) % _GROUP
    # A single letter does not encode a byte.
    letters = letters[:-1] if over == 1 else letters + b"=" * (-over % _GROUP)
    return base64.b64decode(letters)
