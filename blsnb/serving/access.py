"""Access control: web pages, host names, restricted APIs, loads with files."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from blsnb.arguments import check_names, check_type, is_loopback
from blsnb.engine.request.validation import RequestError
from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_json
from blsnb.serving.ports import is_unix

HEALTH, METADATA, INFERENCE = "health", "metadata", "inference"
MEMORY, CONFIG, REPOSITORY = "shared-memory", "model-config", "model-repository"
STATISTICS, TRACE, LOGGING = "statistics", "trace", "logging"
CATEGORIES = (
    *(HEALTH, METADATA, INFERENCE, MEMORY, CONFIG),
    *(REPOSITORY, STATISTICS, TRACE, LOGGING),
)
"""The restrictable groups of APIs, in Triton's order."""
GRPC_PREFIX = "triton-grpc-protocol-"
TOKEN_HEADER = "blsnb-token"
_TOKEN_BYTES = 24
_LOADS_CODE = (
    "a load request {} code in this process, and this server was started without "
    "--allow-load-files"
)
_FOREIGN_SITES = ("cross-site", "same-site")
_MAX_SHOWN = 100
"""Maximum number of characters of a header in an error."""


class Restriction(NamedTuple):
    """Name and value of the header that a restricted API requires."""

    header: str
    value: str

    def admits(self, value: str | None) -> bool:
        """Whether a request has the expected value; compared in constant time."""
        expected, found = self.value.encode(), (value or "").encode("utf-8", "replace")
        return value is not None and hmac.compare_digest(expected, found)


Restrictions = Mapping[str, Restriction]
"""Restrictions by category."""


@dataclass(frozen=True, slots=True)
class Access:
    """What clients of the served ports may do.

    Parameters
    ----------
    allow_origin
        Origins, such as ``"http://localhost:8888"``, whose web pages may send requests
        and read the responses.
    allow_host
        Names, besides the server's own addresses, by which clients may address it.
    allow_load_files
        Whether a load request may contain files, whose code runs in this process.
    http_restricted, grpc_restricted
        The header that each restricted API requires.

    Raises
    ------
    TypeError
        Origins or host names are no list of strings.
    ValueError
        One of them is malformed.
    """

    allow_origin: tuple[str, ...] = ()
    allow_host: tuple[str, ...] = ()
    allow_load_files: bool = False
    http_restricted: Restrictions = field(default_factory=dict)
    grpc_restricted: Restrictions = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("allow_origin", "allow_host"):
            check_type(name, getattr(self, name), Collection, "a list of names")
        check_names(allow_origin=self.allow_origin, allow_host=self.allow_host)
        for origin in self.allow_origin:
            _check_origin(origin)
        for host in self.allow_host:
            _check_host(host)

    def check_load(self, files: Mapping[str, bytes], config: str | None = None) -> None:
        """Refuse a load request that would run code chosen by the client.

        Raises
        ------
        RequestError
            Files are not allowed, and the request contains files, or its configuration
            names a file outside the model's folder.
        """
        if self.allow_load_files:
            return
        if files:
            raise RequestError(
                _LOADS_CODE.format("with files runs their"), "UNAVAILABLE"
            )
        if config is not None and _leaves_folder(config):
            what = "whose configuration names a file elsewhere runs its"
            raise RequestError(_LOADS_CODE.format(what), "UNAVAILABLE")

    def allows_page(self, headers: Mapping[str, str]) -> bool:
        """Whether a page of an allowed origin sends the request."""
        return headers.get("Origin", "").lower() in map(str.lower, self.allow_origin)

    def page_headers(self, headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Return the headers that let a page of an allowed origin read the response."""
        if not self.allows_page(headers):
            return ()
        asked = headers.get("Access-Control-Request-Headers", "")
        return (
            ("Access-Control-Allow-Origin", headers["Origin"]),
            ("Access-Control-Allow-Methods", "GET, POST"),
            ("Access-Control-Allow-Headers", asked),
            ("Access-Control-Expose-Headers", "Inference-Header-Content-Length"),
            ("Vary", "Origin"),
        )

    def refusal(self, headers: Mapping[str, str], bound: str) -> str:
        """Return why a request of a browser is refused; empty if it is accepted.

        Parameters
        ----------
        bound
            The address that the server listens on.
        """
        if not self._knows_host(headers.get("Host"), bound):
            host = _shown(headers["Host"])
            address = "" if is_loopback(bound) else ", an IP address"
            return (
                f"Host '{host}' is not this server; expected localhost, 127.0.0.1 or "
                f"[::1]{address}, or a name allowed with --allow-host"
            )
        if self.allows_page(headers):
            return ""
        origin, host = headers.get("Origin"), headers.get("Host", "")
        if origin is not None and origin.lower() != f"http://{host}".lower():
            return (
                f"a web page of '{_shown(origin)}' may not use this server: loading a "
                "model runs code in it; allow the page with --allow-origin"
            )
        if headers.get("Sec-Fetch-Site", "").lower() in _FOREIGN_SITES:
            return (
                "a web page of another origin may not use this server; to open the "
                "address in a browser, type it into the address bar"
            )
        return ""

    def _knows_host(self, header: str | None, bound: str) -> bool:
        """Whether a Host header is safe from DNS rebinding."""
        if header is None or is_unix(bound):
            return True
        host = _hostname(header)
        if host in map(str.lower, self.allow_host) or host in ("localhost", bound):
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return address.is_loopback or not is_loopback(bound)


def _leaves_folder(config: str) -> bool:
    """Whether a configuration names a model file outside the model's folder."""
    try:
        message = parse_json(config).message
    except ModelConfigError:
        # The load fails with the reason.
        return False
    names = [message.default_model_filename, *message.cc_model_filenames.values()]
    paths = [PurePosixPath(name) for name in names]
    return any(path.is_absolute() or ".." in path.parts for path in paths)


def _hostname(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _shown(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"


def _check_origin(text: str) -> None:
    try:
        parts = urlsplit(text)
        valid = bool(parts.scheme and parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or text != f"{parts.scheme}://{parts.netloc}":
        raise ValueError(
            f"allow_origin={text!r} is not an origin; expected scheme, host and port, "
            "such as 'http://localhost:8888'"
        )


def _check_host(text: str) -> None:
    if not text or _hostname(text) != text.lower() or "@" in text:
        raise ValueError(
            f"allow_host={text!r} is not a host name; expected a name without a port, "
            "such as 'triton'"
        )


def token_restrictions(names: str) -> tuple[tuple[str, str, str], str]:
    """Return the restriction of some APIs with a random token, and the token.

    Parameters
    ----------
    names
        Names of categories joined by commas, or ``"all"``.
    """
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    categories = ",".join(CATEGORIES) if names == "all" else names
    return (categories, TOKEN_HEADER, token), token


def parse_restriction(option: str, text: str) -> tuple[str, str, str]:
    """Return the parts of ``CATEGORIES:KEY=VALUE``.

    Raises
    ------
    ValueError
        The text has another format; in Triton's words.

    References
    ----------
    server: src/command_line_parser.cc, ParseGenericConfigOption
    """
    names, _, setting = text.partition(":")
    key, _, value = setting.partition("=")
    if not (names and key and value):
        raise ValueError(
            f"{option} option format is '<config name>:<setting>=<value>'. Got {text}"
        )
    return names, key, value


def restrict(
    restrictions: Iterable[tuple[str, str, str]], kind: str, prefix: str = ""
) -> dict[str, Restriction]:
    """Return restrictions by category.

    Parameters
    ----------
    restrictions
        Names of categories joined by commas, key and value of the header.
    kind
        ``"api"`` or ``"protocol"``, for errors.
    prefix
        Put before each key.

    Raises
    ------
    ValueError
        A category is unknown, or restricted twice; in Triton's words.

    References
    ----------
    server: src/command_line_parser.cc, ParseRestrictedFeatureOption
    """
    found: dict[str, Restriction] = {}
    for names, key, value in restrictions:
        for name in names.split(","):
            if name not in CATEGORIES:
                raise ValueError(f"unknown restricted {kind} '{name}' ")
            if name in found:
                raise ValueError(
                    f"restricted {kind} '{name}' can not be specified in multiple "
                    "config groups"
                )
            found[name] = Restriction(prefix + key, value)
    return found
