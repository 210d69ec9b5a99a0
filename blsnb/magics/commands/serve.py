"""``%triton serve``: the kernel's models on ports, for clients of Triton."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from blsnb.magics import default_server as default
from blsnb.magics import line
from blsnb.magics.flags import Flags, HelpAsked

if TYPE_CHECKING:
    from blsnb.serving.endpoints import Endpoints

USAGE = "[--http PORT] [--grpc PORT] [--metrics PORT] [--host ADDRESS] [--stop]"
SUMMARY = "let clients of Triton reach the models, over HTTP and gRPC"
_OFF = "off"


def serve_flags() -> Flags:
    """Return the parser of ``%triton serve``'s options."""
    flags = Flags("%triton serve", f"{SUMMARY}.")
    add_ports(flags)
    flags.add_argument("--stop", action="store_true", help="serve no more")
    return flags


def add_ports(parser: argparse.ArgumentParser) -> None:
    """Add where to serve; the same in a notebook and in a terminal."""
    for name, port in (("http", 8000), ("grpc", 8001), ("metrics", 8002)):
        parser.add_argument(
            f"--{name}",
            type=_port,
            default=port,
            metavar="PORT",
            help=f"port of {name}: 0 for one that is free, {_OFF} for none ({port})",
        )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="where to listen; any other address than this machine's own lets "
        "everybody who reaches it run code in this process (127.0.0.1)",
    )


class Serving:
    """What this shell serves: it ends with the extension, or with the server."""

    def __init__(self) -> None:
        self._endpoints: Endpoints | None = None

    def run(self, text: str, namespace: Mapping[str, Any]) -> None:
        """Serve, or stop, as the text says; without options also say where.

        Raises
        ------
        UsageError
            The text is wrong, a port cannot be had, or others are served already.
        """
        words = line.words(text, namespace)
        try:
            given = serve_flags().parse(words)
        except HelpAsked:
            return
        if given.stop:
            self._stop()
            return
        serves = self._endpoints is not None and not self._endpoints.closed
        if serves and words:
            raise UsageError(
                f"the models are served already: {self._endpoints!r}. "
                "%triton serve --stop ends that."
            )
        if not serves:
            self._endpoints = _opened(given)
        assert self._endpoints is not None
        print(_told(self._endpoints))

    def _stop(self) -> None:
        if self._endpoints is None or self._endpoints.closed:
            print("Nothing is served.")
            return
        self.close()
        print("The models are served no more.")

    def close(self) -> None:
        """Give the ports back."""
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


def _told(endpoints: Endpoints) -> str:
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
            f"{text!r} is no port: a number up to 65535, or {_OFF}"
        )
    return int(text)
