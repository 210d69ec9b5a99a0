"""``blsnb serve``: model repositories behind Triton's HTTP and gRPC interfaces."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from blsnb.command.arguments import CommandError, Parser
from blsnb.errors import ModelLoadError

if TYPE_CHECKING:
    from blsnb.inference_server import Server
    from blsnb.serving.endpoints import Endpoints

_ABOUT = """\
Serve model repositories as a Triton server does, for clients of Triton, until Ctrl-C
or SIGTERM ends it. It is not a production server; Triton is.
"""
MODES = ("none", "poll", "explicit")


def flags() -> Parser:
    """Return the parser of the subcommand."""
    from blsnb.magics.commands.serve import add_ports

    parser = Parser("serve", _ABOUT)
    add = parser.add_argument
    add(
        "repositories",
        nargs="+",
        metavar="REPOSITORY",
        help="a folder of models; several are served together",
    )
    add_ports(parser)
    add(
        "--model-control-mode",
        choices=MODES,
        default=MODES[0],
        help="none: all models are loaded at startup; poll: and again when their "
        "files change; explicit: those of --load-model, and what clients load (none)",
    )
    add(
        "--load-model",
        action="append",
        default=[],
        metavar="NAME",
        help="a model to load at startup; * for all; may be repeated",
    )
    add(
        "--keep-going",
        action="store_true",
        help="serve also if a model does not load, as a Triton server does with "
        "--exit-on-error=false",
    )
    parser.add_release()
    parser.add_read_limit()
    return parser


def run(words: Sequence[str]) -> int:
    """Serve until a signal comes."""
    from blsnb.serving.endpoints import serve

    given = flags().parse_args(words)
    if given.load_model and given.model_control_mode != "explicit":
        raise CommandError("--load-model needs --model-control-mode explicit")
    with _sigterm_as_ctrl_c(), _server(given) as server:
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                ports = {"http": given.http, "grpc": given.grpc}
                endpoints = serve(
                    server, **ports, metrics=given.metrics, host=given.host
                )
        except OSError as error:
            raise CommandError(error.strerror or str(error)) from error
        for warning in warned:
            print(f"blsnb serve: {warning.message}", file=sys.stderr)
        with endpoints, _end_signal() as end:
            print("\n".join(_lines(server, endpoints)), flush=True)
            end.wait()
    return 0


def _server(given: argparse.Namespace) -> Server:
    from blsnb.inference_server import Server

    try:
        return Server(
            model_repository=given.repositories,
            model_control_mode=given.model_control_mode,
            startup_models=given.load_model,
            exit_on_error=not given.keep_going,
            triton_release=given.triton_release,
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    except ModelLoadError as error:
        # In the words of this command.
        error.advice = error.advice.replace("exit_on_error=False", "--keep-going")
        raise


def _lines(server: Server, endpoints: Endpoints) -> Iterator[str]:
    from blsnb.printable import printable

    for row in server.index():
        version = f" version {row['version']}" if row.get("version") else ""
        reason, *_ = row.get("reason", "").splitlines() or [""]
        why = f": {printable(reason)}" if reason else ""
        yield f"{row['name']}{version} {row.get('state', 'not loaded')}{why}"
    yield ""
    for name, address in endpoints.addresses.items():
        yield f"{name}: {address}"
    yield "Ctrl-C ends it."


@contextlib.contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, but exit with SIGTERM's status."""
    terminated = threading.Event()

    def end(*_: object) -> None:
        terminated.set()
        signal.raise_signal(signal.SIGINT)

    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if is_ignored:
        # Shells ignore SIGINT in background processes; SIGTERM is handled by it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        if terminated.is_set():
            raise SystemExit(128 + signal.SIGTERM) from None
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
        if is_ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _end_signal() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set."""
    end = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, lambda *_: end.set()) for each in signals}
    try:
        yield end
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
