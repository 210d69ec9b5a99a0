"""``%triton serve``: end points for Triton clients."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from blsnb.magics import default_server as default
from blsnb.magics.flags import Flags
from blsnb.magics.line import Line

if TYPE_CHECKING:
    from blsnb.serving.endpoints import Endpoints

USAGE = "[--http PORT] [--grpc PORT] [--metrics PORT] [--host ADDRESS] [--stop]"
SUMMARY = "serve the models to Triton clients, over HTTP and gRPC"
_OFF = "off"


def serve_flags() -> Flags:
    """Return the parser of ``%triton serve``'s options."""
    flags = Flags("%triton serve", f"{SUMMARY}.")
    add_ports(flags)
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


class Serving:
    """The end points of a shell; they close with the extension or the server."""

    def __init__(self) -> None:
        self._endpoints: Endpoints | None = None

    def run(self, line: Line) -> None:
        """Start or stop serving; print the addresses."""
        words = line.words
        given = serve_flags().parse(words)
        if given.stop:
            self._stop()
            return
        endpoints = self._endpoints
        if endpoints is None or endpoints.closed:
            self._endpoints = endpoints = _opened(given)
        elif words:
            raise UsageError(
                f"the models are served already: {endpoints!r}. "
                "%triton serve --stop ends that."
            )
        print(_described(endpoints))

    def _stop(self) -> None:
        if self._endpoints is None or self._endpoints.closed:
            print("Nothing is served.")
            return
        self.close()
        print("The models are no longer served.")

    def close(self) -> None:
        """Close the end points."""
        endpoints, self._endpoints = self._endpoints, None
        if endpoints is not None:
            endpoints.close()


def _opened(given: argparse.Namespace) -> Endpoints:
    from blsnb.serving.endpoints import serve

    try:
        return serve(
            default.server(),
            http=given.http,
            grpc=given.grpc,
            metrics=given.metrics,
            host=given.host,
        )
    except OSError as error:
        raise UsageError(f"%triton serve: {error.strerror or error}") from error


def _described(endpoints: Endpoints) -> str:
    lines = [f"{name}: {address}" for name, address in endpoints.addresses.items()]
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
