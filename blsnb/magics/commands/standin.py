"""``%triton standin``: a substitute for a model whose backend is not available."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from blsnb.magics import default_server as default
from blsnb.magics.commands.models import run_of
from blsnb.magics.commands.usages import SUMMARIES
from blsnb.magics.flags import Flags
from blsnb.magics.line import Line

if TYPE_CHECKING:
    from blsnb.repository.status import ModelStatus


def standin_flags() -> Flags:
    """Return the parser of ``%triton standin``."""
    text = f"{SUMMARIES['standin']}; cards and graphs mark it"
    flags = Flags("%triton standin", text)
    flags.add_argument("name", metavar="NAME", help="the model; it has a configuration")
    ways = flags.add_mutually_exclusive_group(required=True)
    add = ways.add_argument
    add("--zeros", action="store_true", help="return zeros and empty strings")
    add("--random", type=int, metavar="SEED", help="return random numbers")
    add(
        "--replay",
        nargs="+",
        metavar="RUN",
        help="answer as in recorded runs, to the same inputs: variables that hold runs",
    )
    add(
        "--call",
        metavar="FUNCTION",
        help="answer with what a function of the notebook returns: it gets a dict of "
        "arrays and gives one",
    )
    add(
        "--remote",
        metavar="ADDRESS",
        help="let the model of a Triton server answer, such as grpc://localhost:8001",
    )
    return flags


def standin(line: Line) -> ModelStatus:
    """Replace a model by a stand-in and return its status."""
    given = standin_flags().parse(line.words)
    runs = given.replay and [run_of(word, line.namespace) for word in given.replay]
    try:
        return default.server().standin(
            given.name,
            zeros=given.zeros,
            random=given.random,
            replay=runs,
            call=None if given.call is None else _function(given.call, line.namespace),
            remote=given.remote,
        )
    except ValueError as error:
        raise UsageError(f"%triton standin: {error}") from error


def _function(word: str, namespace: Mapping[str, Any]) -> Callable[..., Any]:
    found: Callable[..., Any] | None = namespace.get(word)
    if not callable(found):
        raise UsageError(f"{word!r} is not a function of the notebook")
    return found
