"""``%triton verify``: the same requests here and on a real Triton server, compared."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from blsnb.magics import default_server as default
from blsnb.magics.asked import Evaluate, asked
from blsnb.magics.flags import Flags, HelpAsked
from blsnb.magics.frontend import Bar

if TYPE_CHECKING:
    from blsnb.parity.parity import Parity

USAGE = (
    "NAME INPUT=EXPRESSION ... [--target TARGET] [--cases FILE] [--install] "
    "[--atol N] [--rtol N]"
)
SUMMARY = "make the same requests on a real Triton server, and compare the answers"
NOTES = """\
Without a target a real server is started with an export of the models, and
stopped afterwards: a tritonserver on PATH, or that of nvidia-pytriton.

FILE is a JSON list of requests, each such as {"inputs": {"X": [1, 2], "IMAGE":
{"npy": "image.npy"}}}; it may have a "name", "outputs", "parameters" and what
else blsnb.Server.infer takes. Paths are relative to the file.
"""


def verify_flags() -> Flags:
    """Return the parser of ``%triton verify``'s options."""
    flags = Flags("%triton verify NAME INPUT=EXPRESSION ...", f"{SUMMARY}.", NOTES)
    add_options(flags)
    return flags


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is compared, and how; the same in a notebook and in a terminal."""
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
    add("--atol", type=float, default=0.0, metavar="N", help="how far numbers may")
    add(
        "--rtol",
        type=float,
        default=0.0,
        metavar="N",
        help="be apart: atol + rtol * |value of the real server| (0)",
    )
    add(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long a real server may take to become ready, and to answer (60)",
    )


def verify(
    text: str, namespace: dict[str, Any], evaluate: Evaluate, *, live: bool
) -> Parity | None:
    """Compare what the text says; None if it asks for help.

    Parameters
    ----------
    evaluate
        Returns the value of an input's expression.
    live
        Whether there is a page in which a bar can move.

    Raises
    ------
    UsageError
        The text is wrong.
    BlsnbError
        There is nothing to compare with, or nothing to compare.
    """
    try:
        given = asked(
            text, namespace, evaluate, verify_flags(), "%triton verify", USAGE
        )
    except HelpAsked:
        return None
    return _compare(*given, live)


def _compare(
    name: str, inputs: Mapping[str, Any], given: argparse.Namespace, live: bool
) -> Parity:
    bar = Bar(name) if live else None
    # Without inputs there may still be a request: of a model that has none.
    first = None if given.cases and not inputs else inputs
    try:
        return default.server().compare(
            name,
            first,
            target=given.target,
            cases=given.cases,
            atol=given.atol,
            rtol=given.rtol,
            timeout_s=given.timeout,
            install=given.install,
            progress=bar or _print,
        )
    except ValueError as error:
        raise UsageError(f"%triton verify: {error}") from error
    except OSError as error:
        raise UsageError(f"%triton verify: {given.cases}: {error.strerror}") from error
    finally:
        if bar is not None:
            bar.end()


def _print(share: float, words: str) -> None:
    print(f"{share:4.0%} {words}")


def bundle(parity: Parity, *, embed_previews: bool) -> dict[str, str]:
    """Return what was compared as a picture, a table and the calls; and as text."""
    from blsnb.parity import page

    shown = page.html(parity, embed_previews=embed_previews)
    return {"text/html": shown, "text/plain": str(parity)}
