"""``blsnb verify``: the same requests here and on a real Triton server, compared."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.command.words import Mistake, Parser
from blsnb.parts.server_parts import parts_of

if TYPE_CHECKING:
    from blsnb.inference_server import Server
    from blsnb.parity.parity import Parity

_ABOUT = """\
Make the same requests of a model of a repository here and on a real Triton server, and
compare the answers. The status is 0 if they agree, 1 if not.
"""


def flags() -> Parser:
    """Return the parser of the subcommand."""
    from blsnb.magics.commands import verify

    parser = Parser("verify", _ABOUT, verify.NOTES)
    add = parser.add_argument
    add("repository", metavar="REPOSITORY", help="a folder of models")
    add("name", metavar="NAME", help="the model that is asked")
    add(
        "inputs",
        nargs="*",
        metavar="INPUT=EXPRESSION",
        help="of one request: Python expressions, such as X=[1,2] or "
        "'X=np.ones(3, np.float32)'",
    )
    verify.add_options(parser)
    parser.add_release()
    add("--html", type=Path, metavar="FILE", help="write a web page of both runs")
    return parser


def run(words: Sequence[str]) -> int:
    """Compare, say what differs, and return whether anything does.

    Raises
    ------
    Mistake
        The words are wrong, or a file cannot be read or written.
    BlsnbError
        There is nothing to compare with, or nothing to compare.
    """
    given = flags().parse_intermixed_args(words)
    inputs = dict(map(_input, given.inputs))
    # Without inputs there may still be a request: of a model that has none.
    first = None if given.cases and not inputs else inputs
    try:
        with _server(given) as server:
            _check_serves(server, given.name)
            parity = _compared(server, first, given)
    except ValueError as error:
        raise Mistake(str(error)) from error
    print(parity)
    if given.html is not None:
        parity.save(given.html)
        print(f"{given.html}: {given.html.stat().st_size:,} bytes; a browser opens it.")
    return parity.exit_code


def _server(given: argparse.Namespace) -> Server:
    from blsnb.inference_server import Server

    return Server(
        model_repository=given.repository,
        startup_models="*",
        exit_on_error=False,
        triton_release=given.triton_release,
    )


def _check_serves(server: Server, name: str) -> None:
    """Say why a model does not load, if it does not: the others need not matter."""
    directory = parts_of(server).repository.directory(name)
    if directory is not None and server.model(name).state != "READY":
        server.load(name)


def _compared(
    server: Server, inputs: dict[str, Any] | None, given: argparse.Namespace
) -> Parity:
    try:
        return server.compare(
            given.name,
            inputs,
            target=given.target,
            cases=given.cases,
            atol=given.atol,
            rtol=given.rtol,
            timeout_s=given.timeout,
            install=given.install,
            progress=_print,
        )
    except OSError as error:
        raise Mistake(f"{given.cases}: {error.strerror}") from error


def _print(share: float, words: str) -> None:
    print(f"{share:4.0%} {words}", file=sys.stderr)


def _input(word: str) -> tuple[str, Any]:
    """Return the name and the value of an input.

    Raises
    ------
    Mistake
        It has another form, or its expression fails.
    """
    import numpy as np

    name, equals, expression = word.partition("=")
    if not (name and equals):
        raise Mistake(f"expected INPUT=expression, not {word!r}")
    try:
        return name, eval(expression, {"np": np, "numpy": np})
    except Exception as error:
        raise Mistake(f"{word}: {type(error).__name__}: {error}") from error
