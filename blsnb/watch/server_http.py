"""HTTP requests to a real server, with errors that name it."""

from __future__ import annotations

import json
import urllib.error
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from blsnb.arguments import is_http_url
from blsnb.errors import TritonServerError
from blsnb.otlp.sending import opener_for
from blsnb.printable import printable

_TIMEOUT_S = 10.0
_MAX_ANSWER = 64 << 20
_MAX_SHOWN = 300


class ServerHttp:
    """The HTTP port of a real server.

    Parameters
    ----------
    url
        Its address, such as ``"http://127.0.0.1:8000"``; ``http://`` may be omitted.

    Raises
    ------
    ValueError
        The address is not a URL of HTTP.
    """

    def __init__(self, url: str) -> None:
        whole = url if "://" in url else f"http://{url}"
        if not is_http_url(whole):
            raise ValueError(
                f"url={url!r} is not valid; expected the address of a server's HTTP "
                "port, such as 'http://127.0.0.1:8000'"
            )
        parts = urlsplit(whole)
        self._base = whole.rstrip("/")
        self._opener = opener_for(whole)
        self.host = parts.hostname or ""
        self.name = f"the server at {parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    def read(
        self, path: str, changes: Any = None, timeout_s: float = _TIMEOUT_S
    ) -> Any:
        """Return the JSON that the server answers.

        Parameters
        ----------
        changes
            Sent as JSON with POST; None to use GET.

        Raises
        ------
        TritonServerError
            The server does not respond, or answers with an error.
        """
        body = None if changes is None else json.dumps(changes).encode()
        text = self.read_text(path, body, timeout_s)
        try:
            return json.loads(text)
        except ValueError as error:
            raise TritonServerError(
                f"{self.name} answers no JSON; is this its HTTP port?"
            ) from error

    def read_text(
        self, path: str, body: bytes | None = None, timeout_s: float = _TIMEOUT_S
    ) -> str:
        """Return the text that the server answers; errors as of `read`."""
        url = f"{self._base}{path}"
        try:
            with self._opener.open(url, body, timeout_s) as answer:
                found: bytes = answer.read(_MAX_ANSWER)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read(_MAX_SHOWN).decode("utf-8", "replace")
            raise TritonServerError(
                f"{self.name}: HTTP {error.code} {printable(text)}"
            ) from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise TritonServerError(
                f"{self.name} does not respond: {reason}"
            ) from error
        except HTTPException as error:
            raise TritonServerError(
                f"{self.name} does not respond with HTTP; is this its HTTP port?"
            ) from error
        return found.decode("utf-8", "replace")
