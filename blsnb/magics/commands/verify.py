"""``%triton verify``: compare blsnb with a real Triton server."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import SUMMARIES, usage_of
from blsnb.magics.flags import Flags
from blsnb.magics.frontend import progress_bar
from blsnb.magics.line import Line, RequestLine, request_line
from blsnb.views.exported import exported

if TYPE_CHECKING:
    from blsnb.benchmark.measure import Progress
    from blsnb.inference_server import Server
    from blsnb.parity.parity import Parity

NOTES = """\
Without a target a real server is started with an export of the models, and
stopped afterwards: a tritonserver on PATH, or that of nvidia-pytriton.

FILE is a JSON list of requests, each such as {"inputs": {"X": [1, 2], "IMAGE":
{"npy": "image.npy"}}}; it may have a "name", "outputs", "parameters" and what
else blsnb.Server.infer takes. Paths are relative to the file.
"""


def verify_flags() -> Flags:
    """Return the parser of ``%triton verify``'s options."""
    usage = "%triton verify NAME INPUT=EXPRESSION ..."
    flags = Flags(usage, f"{SUMMARIES['verify']}.", NOTES)
    add_options(flags)
    return flags


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options shared by the magic and ``blsnb verify``."""
    add = parser.add_argument
    add(
        "--target",
        default="local",
        metavar="TARGET",
        help="local, or a running server with the models: grpc://HOST:PORT (local)",
    )
    add("--cases", metavar="FILE", help="further requests, from a JSON file")
    add(
        "--install",
        action="store_true",
        help="install a real server, and packages that the models import, in an "
        "environment of its own, if they are missing",
    )
    add(
        "--atol",
        type=float,
        default=0.0,
        metavar="N",
        help="numbers may differ by atol + rtol * |value of the real server| (0)",
    )
    add("--rtol", type=float, default=0.0, metavar="N", help="see --atol (0)")
    add(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="maximum time for a real server to become ready, and to answer (60)",
    )


def verify(line: Line) -> Parity:
    """Compare the model named in a line with a real server."""
    request = request_line(line, verify_flags(), usage_of("verify"))
    with progress_bar(line, request.name, "verify") as bar:
        return compare(default.server(), request, bar or print_progress)


def compare(server: Server, request: RequestLine, progress: Progress) -> Parity:
    """Compare a request, and the requests of ``--cases``, with a real server."""
    name, inputs, given = request
    try:
        return server.compare(
            name,
            # A model without inputs can be compared, too, unless cases are given.
            None if given.cases and not inputs else inputs,
            target=given.target,
            cases=given.cases,
            atol=given.atol,
            rtol=given.rtol,
            timeout_s=given.timeout,
            install=given.install,
            progress=progress,
        )
    except OSError as error:
        raise ValueError(f"{error.filename or name}: {error.strerror}") from error


def print_progress(share: float, words: str) -> None:
    """Print the completed share, between 0 and 1, and the current step."""
    print(f"{share:4.0%} {words}")


def bundle(parity: Parity, *, embed_previews: bool) -> dict[str, str]:
    """Return a comparison as a picture, a table and the calls; and as text."""
    from blsnb.parity import page

    shown = page.html(parity, embed_previews=embed_previews)
    return {"text/html": shown, **exported(str(parity))}
