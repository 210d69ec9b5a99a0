"""``%triton serve``: end points for Triton clients."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from blsnb.files.secret_file import SecretFile
from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import SUMMARIES
from blsnb.magics.flags import Flags
from blsnb.magics.line import Line

if TYPE_CHECKING:
    from blsnb.inference_server import Server
    from blsnb.serving.access import Access
    from blsnb.serving.core.serving_options import ServingOptions
    from blsnb.serving.endpoints import Endpoints

_OFF = "off"


def serve_flags() -> Flags:
    """Return the parser of ``%triton serve``'s options."""
    flags = Flags("%triton serve", f"{SUMMARIES['serve']}.")
    add_ports(flags)
    add_access(flags)
    flags.add_argument("--stop", action="store_true", help="stop serving")
    return flags


def add_ports(parser: argparse.ArgumentParser) -> None:
    """Add the options shared by the magic and ``blsnb serve``."""
    for name, port in (("http", 8000), ("grpc", 8001), ("metrics", 8002)):
        parser.add_argument(
            f"--{name}",
            type=_port,
            default=port,
            metavar="PORT",
            help=f"port of {name}: 0 for a free one, {_OFF} for none ({port})",
        )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on; an address that other machines reach lets them "
        "run code in this process (127.0.0.1)",
    )


def add_access(parser: argparse.ArgumentParser) -> None:
    """Add the options of access control."""
    add = parser.add_argument
    add(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let web pages of an origin, such as http://localhost:8888, use the "
        "server; may be repeated (pages of other origins are refused)",
    )
    add(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name by which clients address this machine over HTTP; may be repeated "
        "(localhost and IP addresses)",
    )
    add(
        "--allow-load-files",
        action="store_true",
        help="accept load requests with files. Every client that can connect (also "
        "other users of this machine) can then run code in this process",
    )
    add(
        "--unix-sockets",
        metavar="FOLDER",
        help="listen on Unix sockets http.sock, grpc.sock and metrics.sock in a folder "
        "that only you can enter, instead of on ports",
    )
    _add_restrictions(parser)


def _add_restrictions(parser: argparse.ArgumentParser) -> None:
    from blsnb.serving.access import CATEGORIES, GRPC_PREFIX

    add = parser.add_argument
    add(
        "--access-token",
        metavar="APIS",
        help="require a random token, printed at the start (a notebook names a private "
        "file that has it), for these groups of APIs, "
        f"joined by commas, or for all: {', '.join(CATEGORIES)}",
    )
    for name in ("--http-restricted-api", "--grpc-restricted-protocol"):
        add(
            name,
            action="append",
            default=[],
            type=_restriction(name),
            metavar="APIS:KEY=VALUE",
            help="require a header for groups of APIs, as tritonserver does"
            + (f"; the key follows {GRPC_PREFIX}" if "grpc" in name else ""),
        )
    add(
        "--http-max-input-size",
        type=int,
        metavar="BYTES",
        help="maximum size of an input in JSON, of a raw body and of a JSON text over "
        "HTTP, as tritonserver's option (67108864 from release 25.05 on)",
    )


def _restriction(option: str) -> Callable[[str], tuple[str, str, str]]:
    from blsnb.serving.access import parse_restriction

    def parse(text: str) -> tuple[str, str, str]:
        try:
            return parse_restriction(option, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def access_of(given: argparse.Namespace) -> tuple[Access, str]:
    """Return the access that the options allow, and the random token, if any.

    Raises
    ------
    ValueError
        An option is invalid.
    """
    from blsnb.serving.access import GRPC_PREFIX, Access, restrict, token_restrictions

    token, shared = "", []
    if given.access_token:
        restriction, token = token_restrictions(given.access_token)
        shared.append(restriction)
    access = Access(
        allow_origin=tuple(given.allow_origin),
        allow_host=tuple(given.allow_host),
        allow_load_files=given.allow_load_files,
        http_restricted=restrict([*shared, *given.http_restricted_api], "api"),
        grpc_restricted=restrict(
            [*shared, *given.grpc_restricted_protocol], "protocol", GRPC_PREFIX
        ),
    )
    return access, token


def token_lines(token: str) -> list[str]:
    """Return the headers that a client must send; no lines without a token."""
    from blsnb.serving.access import GRPC_PREFIX, TOKEN_HEADER

    if not token:
        return []
    return [
        f"header over HTTP: {TOKEN_HEADER}: {token}",
        f"header over gRPC: {GRPC_PREFIX}{TOKEN_HEADER}: {token}",
    ]


class Serving:
    """The end points of a shell; they close with the extension or the server."""

    def __init__(self) -> None:
        self._endpoints: Endpoints | None = None
        self._token: SecretFile | None = None

    def run(self, line: Line) -> None:
        """Start or stop serving; print the addresses."""
        words = line.words
        given = serve_flags().parse(words)
        if given.stop:
            self._stop()
            return
        endpoints = self._endpoints
        if endpoints is None or endpoints.closed:
            self.close()
            self._endpoints, self._token = _opened(given)
            print(_described(self._endpoints, self._token))
            return
        if words:
            raise UsageError(
                f"the models are served already: {endpoints!r}. "
                "%triton serve --stop ends that."
            )
        print(_described(endpoints, self._token))

    def _stop(self) -> None:
        if self._endpoints is None or self._endpoints.closed:
            print("Nothing is served.")
            return
        self.close()
        print("The models are no longer served.")

    def close(self) -> None:
        """Close the end points."""
        endpoints, self._endpoints = self._endpoints, None
        token, self._token = self._token, None
        if endpoints is not None:
            endpoints.close()
        if token is not None:
            token.close()


def open_endpoints(
    given: argparse.Namespace, server: Server, access: Access, options: ServingOptions
) -> Endpoints:
    """Serve a server as the options of `add_ports` and `add_access` demand.

    Raises
    ------
    OSError
        A port is in use or not permitted.
    """
    from blsnb.serving.endpoints import serve

    return serve(
        server,
        http=given.http,
        grpc=given.grpc,
        metrics=given.metrics,
        host=given.host,
        access=access,
        unix_sockets=given.unix_sockets,
        options=options,
    )


def _opened(given: argparse.Namespace) -> tuple[Endpoints, SecretFile | None]:
    from blsnb.serving.core.serving_options import ServingOptions

    try:
        access, token = access_of(given)
        # An output is saved with the notebook; the file is not.
        secret = SecretFile("token", token) if token else None
        options = ServingOptions(http_max_input_size=given.http_max_input_size)
        return open_endpoints(given, default.server(), access, options), secret
    except OSError as error:
        raise UsageError(f"%triton serve: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"%triton serve: {error}") from error


def _described(endpoints: Endpoints, token: SecretFile | None) -> str:
    lines = [f"{name}: {address}" for name, address in endpoints.addresses.items()]
    if token is not None:
        lines += token_lines("TOKEN")
        lines.append(f"TOKEN is in a file that only you can read: {token.path}")
    snippet = endpoints.snippet()
    if snippet:
        lines += ["", snippet]
    return "\n".join([*lines, "", "%triton serve --stop ends it."])


def _port(text: str) -> int | None:
    if text == _OFF:
        return None
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a port: expected a number up to 65535, or {_OFF}"
        )
    return int(text)
