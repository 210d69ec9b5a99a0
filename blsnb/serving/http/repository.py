"""HttpRepository: what ``/v2/repository`` answers: index, load and unload."""

from __future__ import annotations

import base64
import string

from blsnb.engine.request.validation import RequestError
from blsnb.errors import ModelLoadError, RepositoryError
from blsnb.inference_server import Server
from blsnb.serving.core.repository import (
    FILE,
    UNLOAD_DEPENDENTS,
    index_rows,
    refuse_name,
)
from blsnb.serving.http import json_values
from blsnb.serving.http.answer import (
    HttpAnswer,
    HttpRequest,
    error_answer,
    json_answer,
    not_allowed,
)
from blsnb.serving.http.json_body import Json, parse

_LETTERS = (string.ascii_letters + string.digits + "+/").encode()
_OTHERS = bytes(set(range(256)).difference(_LETTERS))
_GROUP = 4


def index(server: Server, request: HttpRequest) -> HttpAnswer:
    """Return the rows of the index, or of the models that are ready.

    Raises
    ------
    RequestError
        The body is wrong.
    """
    if request.method != "POST":
        return not_allowed()
    ready = False
    document = parse(request.body) if request.body else {}
    if json_values.has(document, "ready"):
        ready = json_values.as_boolean(document["ready"])
    return json_answer(index_rows(server, ready=ready))


def control(
    server: Server, request: HttpRequest, repository: str, model: str, action: str
) -> HttpAnswer:
    """Load or unload a model.

    Raises
    ------
    RequestError
        The body is wrong.
    """
    if request.method != "POST":
        return not_allowed()
    refuse_name(repository)
    try:
        if action == "load":
            _load(server, model, request.body)
        else:
            dependents = _unloads_dependents(request.body)
            server.unload(model, unload_dependents=dependents)
    except ModelLoadError as error:
        return error_answer(error.message, error.code)
    except RepositoryError:
        # A name that no folder can have.
        text = f"failed to load '{model}', failed to poll from model repository"
        return error_answer(text, "INTERNAL")
    return HttpAnswer()


def _load(server: Server, model: str, body: bytes) -> None:
    config: str | None = None
    files: dict[str, bytes] = {}
    document = parse(body) if body else {}
    given = document["parameters"] if json_values.has(document, "parameters") else {}
    for name, value in json_values.members(given).items():
        text = json_values.as_text(value)
        if name == "config":
            config = text
        elif name.startswith(FILE):
            files[name] = decoded(text)
        else:
            raise RequestError(
                "unexpected error on creating Triton parameter", "INTERNAL"
            )
    server.load(model, config=config, files=files)


def _unloads_dependents(body: bytes) -> bool:
    """Return whether models are to go with it; what is wrong counts for nothing."""
    try:
        document: Json = parse(body)
    except RequestError:
        return False
    found = json_values.find(
        json_values.find(document, "parameters"), UNLOAD_DEPENDENTS
    )
    return found is True


def decoded(text: str) -> bytes:
    """Decode base64 as libb64 does: characters outside the alphabet are ignored.

    References
    ----------
    libb64: src/cdecode.c, base64_decode_block
    """
    # A regular expression would make an object for each character that goes.
    letters = text.encode("utf-8", "surrogateescape").translate(None, _OTHERS)
    over = len(letters) % _GROUP
    # Of one letter alone no byte can be made.
    letters = letters[:-1] if over == 1 else letters + b"=" * (-over % _GROUP)
    return base64.b64decode(letters)
