"""``blsnb serve``: model repositories behind Triton's HTTP and gRPC interfaces."""

from __future__ import annotations

import argparse
import contextlib
import logging
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from blsnb.command.arguments import CommandError, Parser
from blsnb.command.server_options import (
    add_server_options,
    apply_ports,
    boolean,
    check_server_options,
    server_arguments,
    serving_options,
)
from blsnb.errors import ModelLoadError

if TYPE_CHECKING:
    from blsnb.inference_server import Server
    from blsnb.serving.access import Access
    from blsnb.serving.core.log_settings import LogSettings
    from blsnb.serving.core.serving_options import ServingOptions
    from blsnb.serving.endpoints import Endpoints
    from blsnb.serving.server_log import ServerLog

_ABOUT = """\
Serve model repositories as a Triton server does, for clients of Triton, until Ctrl-C
or SIGTERM ends it. It is not a production server; Triton is.
"""
_SERVICES = {
    "HTTP": "HTTPService",
    "gRPC": "GRPCInferenceService",
    "metrics": "Metrics Service",
}
_EXPIRED = "Exit timeout expired. Exiting immediately."
_log = logging.getLogger("blsnb.serve")
MODES = ("none", "poll", "explicit")


def flags() -> Parser:
    """Return the parser of the subcommand."""
    from blsnb.magics.commands.serve import add_access, add_ports

    parser = Parser("serve", _ABOUT)
    add = parser.add_argument
    add(
        "repositories",
        nargs="*",
        metavar="REPOSITORY",
        help="a folder of models; several are served together",
    )
    add_ports(parser)
    add_access(parser)
    add(
        "--model-control-mode",
        type=str.lower,
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
    _add_log(parser)
    parser.add_release()
    parser.add_read_limit()
    add_server_options(parser)
    return parser


def _add_log(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--log-verbose",
        type=int,
        default=0,
        metavar="N",
        help="from 1 on, log the lines of models' Logger.log_verbose (0)",
    )
    for name in ("info", "warning", "error"):
        add(
            f"--log-{name}",
            type=boolean,
            default=True,
            metavar="BOOLEAN",
            help=f"whether lines of level {name} are logged, on stderr (true)",
        )
    add(
        "--log-format",
        choices=("default", "ISO8601"),
        default="default",
        help="how lines begin: I1122 18:23:05.243951, or 2026-11-22T18:23:05Z I "
        "(default)",
    )
    add(
        "--log-file",
        default="",
        metavar="FILE",
        help="append the log to a file instead of writing it to stderr",
    )


def run(words: Sequence[str]) -> int:
    """Serve until SIGINT or SIGTERM."""
    from blsnb.magics.commands.serve import access_of

    given = flags().parse_args(words)
    given.repositories += given.more_repositories
    if not given.repositories:
        flags().error("the following arguments are required: REPOSITORY")
    unused = check_server_options(given)
    apply_ports(given)
    if given.load_model and given.model_control_mode != "explicit":
        raise CommandError("--load-model needs --model-control-mode explicit")
    try:
        access, token = access_of(given)
        options = serving_options(given)
    except ValueError as error:
        raise CommandError(str(error)) from error
    with (
        _sigterm_as_ctrl_c(),
        _model_argv(),
        _logging(given, unused) as log,
        _server(given) as server,
    ):
        with _end_signal() as end:
            endpoints = _endpoints(given, server, access, options)
            log.settings = _log_settings(given, endpoints.log_settings)
            _announce(server, endpoints, token)
            end.wait()
        # It closes the end points, too.
        server.close()
        return _exit_status(server)


def _announce(server: Server, endpoints: Endpoints, token: str) -> None:
    for name, address in endpoints.addresses.items():
        _log.info("Started %s at %s", _SERVICES[name], address)
    print("\n".join(_lines(server, endpoints, token)), flush=True)


def _exit_status(server: Server) -> int:
    """Return 1 if a model did not end within the exit timeout.

    References
    ----------
    server: src/main.cc
    """
    from blsnb.parts.server_parts import parts_of

    if parts_of(server).lifetime.left_s:
        return 0
    _log.error("failed to stop server: Internal - %s", _EXPIRED)
    return 1


def _endpoints(
    given: argparse.Namespace, server: Server, access: Access, options: ServingOptions
) -> Endpoints:
    from blsnb.magics.commands.serve import open_endpoints

    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            endpoints = open_endpoints(given, server, access, options)
    except OSError as error:
        raise CommandError(error.strerror or str(error)) from error
    for warning in warned:
        print(f"blsnb serve: {warning.message}", file=sys.stderr)
    return endpoints


@contextlib.contextmanager
def _model_argv() -> Iterator[None]:
    """Give models the arguments that they have on Triton: ``sys.argv == [""]``.

    References
    ----------
    python_backend: src/pb_stub.cc, py::scoped_interpreter
    """
    before, sys.argv = sys.argv, [""]
    try:
        yield
    finally:
        sys.argv = before


@contextlib.contextmanager
def _logging(given: argparse.Namespace, unused: list[str]) -> Iterator[ServerLog]:
    """Write the log to stderr, or to the file of ``--log-file``."""
    from blsnb.engine.model_log import ModelLog
    from blsnb.serving.core.log_settings import LogSettings
    from blsnb.serving.server_log import ServerLog

    settings = LogSettings(ModelLog(given.log_verbose))
    try:
        log = ServerLog(_log_settings(given, settings), given.log_file)
    except OSError as error:
        raise CommandError(
            f"--log-file={given.log_file} cannot be written: {error.strerror}"
        ) from error
    logger = logging.getLogger("blsnb")
    before, propagated = logger.level, logger.propagate
    logger.addHandler(log)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        for line in unused:
            _log.warning("%s", line)
        yield log
    finally:
        logger.removeHandler(log)
        logger.setLevel(before)
        logger.propagate = propagated
        log.close()


def _log_settings(given: argparse.Namespace, settings: LogSettings) -> LogSettings:
    for name in ("log_info", "log_warning", "log_error"):
        settings.switch(name, getattr(given, name))
    settings.set_format(given.log_format)
    return settings


def _server(given: argparse.Namespace) -> Server:
    from blsnb.inference_server import Server

    try:
        return Server(
            model_repository=given.repositories,
            model_control_mode=given.model_control_mode,
            startup_models=given.load_model,
            triton_release=given.triton_release,
            log_verbose=given.log_verbose,
            **server_arguments(given),
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    except ModelLoadError as error:
        # In the words of this command.
        error.advice = error.advice.replace("exit_on_error=False", "--keep-going")
        raise


def _lines(server: Server, endpoints: Endpoints, token: str) -> Iterator[str]:
    from blsnb.magics.commands.serve import token_lines
    from blsnb.printable import printable

    for row in server.index():
        version = f" version {row['version']}" if row.get("version") else ""
        reason, *_ = row.get("reason", "").splitlines() or [""]
        why = f": {printable(reason)}" if reason else ""
        yield f"{row['name']}{version} {row.get('state', 'not loaded')}{why}"
    yield ""
    for name, address in endpoints.addresses.items():
        yield f"{name}: {address}"
    yield from token_lines(token)
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
