"""``%triton watch``: the requests of a real Triton server as a live list."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython
from IPython.display import display

from blsnb.arguments import path_of
from blsnb.errors import TraceFileError, TritonServerError
from blsnb.files.secret_file import SecretFile
from blsnb.magics.commands.usages import SUMMARIES
from blsnb.magics.flags import Flags
from blsnb.magics.frontend import has_page, needs_displayed_widgets
from blsnb.magics.line import Line

if TYPE_CHECKING:
    from blsnb.watch.listing import Filter
    from blsnb.watch.receiver import Receiver
    from blsnb.watch.watch import Watch

_LOOPBACK, _PORT = "127.0.0.1", 4318


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options shared by the magic and ``blsnb watch``."""
    add = parser.add_argument
    add(
        "file",
        nargs="?",
        metavar="FILE",
        help="a file of JSON lines that a Collector's file exporter wrote",
    )
    add(
        "--listen",
        default=_LOOPBACK,
        metavar="ADDRESS",
        help="the address to listen on; if other machines can reach it, the URL "
        f"contains a random token ({_LOOPBACK})",
    )
    add("--port", type=int, default=_PORT, help=f"the port; 0: a free one ({_PORT})")
    add(
        "--server",
        metavar="URL",
        help="the server's HTTP port: print what it traces, and change it with --rate, "
        "--level and --count",
    )
    add("--rate", type=int, metavar="N", help="trace 1 of N requests of --server")
    add("--level", metavar="LEVEL", help="OFF or TIMESTAMPS, of --server")
    add("--count", type=int, metavar="N", help="trace N more requests; -1: all")
    _add_filter(parser)


def _add_filter(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", default="", metavar="NAME", help="list only models with this text")
    add("--id", default="", help="list only requests whose id has this text")
    add(
        "--slower-than",
        type=float,
        default=0.0,
        metavar="MS",
        help="list only requests of at least this many milliseconds",
    )


def watch_flags() -> Flags:
    """Return the parser of ``%triton watch``."""
    flags = Flags("%triton watch", f"{SUMMARIES['watch']}.")
    add_options(flags)
    flags.add_argument("--stop", action="store_true", help="stop receiving")
    return flags


def filter_of(given: argparse.Namespace) -> Filter:
    """Return the filter of the options."""
    from blsnb.watch.listing import Filter

    return Filter(given.model, given.id, given.slower_than)


def set_tracing(given: argparse.Namespace) -> str:
    """Change what the server traces; return its settings in one line.

    Raises
    ------
    TritonServerError
        The server does not respond, refuses, or was started without tracing.
    ValueError
        A value is invalid, or there is no server.
    """
    from blsnb.watch.trace_settings import RemoteTraceSettings, described

    changes = {name: getattr(given, name) for name in ("rate", "level", "count")}
    if given.server is None:
        if any(value is not None for value in changes.values()):
            raise ValueError("--rate, --level and --count need --server URL")
        return ""
    settings = RemoteTraceSettings(given.server)
    if all(value is None for value in changes.values()):
        return described(settings.read())
    return described(settings.change(**changes))


def opened(given: argparse.Namespace) -> Watch:
    """Read a file, or start to receive.

    Raises
    ------
    OSError
        The port is not available.
    TraceFileError
        The file cannot be read, or has no spans.
    """
    from blsnb.watch.watch import read, receive

    if given.file is not None:
        try:
            watch = read(path_of(file=given.file))
        except OSError as error:
            text = f"{given.file!r} cannot be read: {error.strerror or error}"
            raise TraceFileError(text) from error
    else:
        watch = receive(given.listen, given.port)
    watch.filter = filter_of(given)
    return watch


def instructions(receiver: Receiver, token: str) -> str:
    """Return what to start a server with.

    Parameters
    ----------
    token
        What is shown as the token of the URL.
    """
    from blsnb.watch.watch import server_flags

    url = receiver.url(token)
    lines = [
        f"Receiving OpenTelemetry spans at {url}",
        "Start the server with:",
        *(f"  {flag}" for flag in server_flags(url)),
        "A server sends no errors, no tensors and no rejected requests, and only those "
        "BLS requests that a model makes with trace=request.trace().",
    ]
    if receiver.token:
        lines.append(
            "If the address is 0.0.0.0, replace it by one of this machine that the "
            "server can reach."
        )
    else:
        lines.append(
            "In a container it needs --network host; otherwise listen on an address "
            "that it can reach: --listen ADDRESS"
        )
    return "\n".join(lines)


class Watching:
    """The watch of a shell; it closes with the extension."""

    def __init__(self) -> None:
        self._watch: Watch | None = None
        self._files: list[Watch] = []
        self._secret: SecretFile | None = None

    def run(self, line: Line) -> Watch | None:
        """Start or stop watching; return the watch, whose display is the live list."""
        given = watch_flags().parse(line.words)
        if given.stop:
            print("Nothing is received." if self._watch is None else "Stopped.")
            self.close()
            return None
        try:
            if tracing := set_tracing(given):
                print(tracing)
            if given.file is not None:
                self._files.append(opened(given))
                return self._files[-1]
            return self._receive(given)
        except (OSError, TraceFileError, TritonServerError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"%triton watch: {reason}") from error

    def _receive(self, given: argparse.Namespace) -> Watch:
        if self._watch is not None:
            if (given.listen, given.port) != (_LOOPBACK, _PORT):
                raise UsageError(
                    f"%triton watch: {self._watch.receiver!r} receives already; "
                    "%triton watch --stop ends that"
                )
            self._watch.filter = filter_of(given)
            return self._watch
        watch = self._watch = opened(given)
        assert watch.receiver is not None
        print(instructions(watch.receiver, "TOKEN"))
        if token := watch.receiver.token:
            text = instructions(watch.receiver, token)
            self._secret = SecretFile("watch.txt", f"{text}\n")
            print(_TOKEN_ADVICE.format(self._secret.path))
        return watch

    def close(self) -> None:
        """Stop receiving, and following files."""
        watch, self._watch = self._watch, None
        files, self._files = self._files, []
        secret, self._secret = self._secret, None
        if secret is not None:
            secret.close()
        for each in files if watch is None else [*files, watch]:
            each.close()


_TOKEN_ADVICE = (
    "TOKEN stands for the random token, which must not be saved in a notebook. The "
    "same lines with the token are in a file that only you can read: {}"
)


def show(watch: Watch) -> None:
    """Show the live list, and beside it the text that a saved notebook keeps of it."""
    if not has_page(get_ipython()):
        raise NotImplementedError
    shown = watch.widget()
    display(shown.placed(), raw=True)
    handle = display(shown.kept(), raw=True, display_id=True)
    shown.on_keep(lambda: handle.update(shown.kept(), raw=True))


def bundle(watch: Watch) -> dict[str, Any]:
    """Return the live list of a watch, or its text if no page can show widgets."""
    shown = watch.widget()
    kept: dict[str, Any] = (
        shown._repr_mimebundle_() if needs_displayed_widgets() else shown.still()
    )
    return kept
