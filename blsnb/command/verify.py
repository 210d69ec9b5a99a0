"""``blsnb verify``: compare the responses of blsnb and a real Triton server."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from blsnb.command.arguments import CommandError, Parser
from blsnb.command.repository_server import serving
from blsnb.magics.commands import verify
from blsnb.magics.line import RequestLine

_ABOUT = """\
Make the same requests of a model of a repository here and on a real Triton server, and
compare the answers. The status is 0 if they agree, 1 if not.
"""


def flags() -> Parser:
    """Return the parser of the subcommand."""
    parser = Parser("verify", _ABOUT, verify.NOTES)
    add = parser.add_argument
    add("repository", metavar="REPOSITORY", help="a folder of models")
    add("name", metavar="NAME", help="the model")
    add(
        "inputs",
        nargs="*",
        metavar="INPUT=EXPRESSION",
        help="inputs of a request: Python expressions, such as X=[1,2] or "
        "'X=np.ones(3, np.float32)'",
    )
    verify.add_options(parser)
    parser.add_release()
    add("--html", type=_page, metavar="FILE", help="write a web page of both runs")
    return parser


def run(words: Sequence[str]) -> int:
    """Compare, print the differences, and return 1 if there are any."""
    given = flags().parse_intermixed_args(words)
    request = RequestLine(given.name, dict(map(_input, given.inputs)), given)
    try:
        with serving(given) as server:
            parity = verify.compare(server, request, _print)
    except ValueError as error:
        raise CommandError(str(error)) from error
    print(parity)
    if given.html is not None:
        page = parity.save(given.html)
        print(f"{page}: {page.stat().st_size:,} bytes; a browser opens it.")
    return parity.exit_code


def _print(share: float, words: str) -> None:
    print(f"{share:4.0%} {words}", file=sys.stderr)


def _page(word: str) -> Path:
    if not word.lower().endswith(".html"):
        raise ArgumentTypeError(f"{word!r} is no .html file")
    return Path(word)


def _input(word: str) -> tuple[str, Any]:
    """Return the name and the value of an input."""
    import numpy as np

    name, equals, expression = word.partition("=")
    if not (name and equals):
        raise CommandError(f"expected INPUT=expression, not {word!r}")
    try:
        return name, eval(expression, {"np": np, "numpy": np})
    except (Exception, SystemExit) as error:
        raise CommandError(f"{word}: {type(error).__name__}: {error}") from error
