"""``%triton standin``: others answer for a model whose backend is not here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from blsnb.magics import default_server as default
from blsnb.magics.flags import Flags, HelpAsked

if TYPE_CHECKING:
    from blsnb.repository.status import ModelStatus
    from blsnb.run import Run

USAGE = (
    "NAME --zeros | --random SEED | --replay RUN ... | --call FUNCTION | "
    "--remote grpc://HOST:PORT"
)
SUMMARY = "let a stand-in answer for a model whose backend is not here"


def standin_flags() -> Flags:
    """Return the parser of ``%triton standin``."""
    flags = Flags("%triton standin", f"{SUMMARY}; cards and graphs mark it")
    flags.add_argument("name", metavar="NAME", help="the model; it has a configuration")
    ways = flags.add_mutually_exclusive_group(required=True)
    add = ways.add_argument
    add("--zeros", action="store_true", help="answer with zeros and empty texts")
    add("--random", type=int, metavar="SEED", help="answer with numbers by chance")
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


def standin(words: Sequence[str], namespace: Mapping[str, Any]) -> ModelStatus | None:
    """Do what the words say, and return how the model stands.

    Raises
    ------
    UsageError
        They are wrong, or name nothing.
    """
    try:
        given = standin_flags().parse(words)
    except HelpAsked:
        return None
    try:
        return default.server().standin(
            given.name,
            zeros=given.zeros,
            random=given.random,
            replay=None if given.replay is None else _runs(given.replay, namespace),
            call=None if given.call is None else _function(given.call, namespace),
            remote=given.remote,
        )
    except ValueError as error:
        raise UsageError(f"%triton standin: {error}") from error


def _runs(words: Sequence[str], namespace: Mapping[str, Any]) -> list[Run]:
    from blsnb.run import Run

    found = [namespace.get(word) for word in words]
    for word, each in zip(words, found, strict=True):
        if not isinstance(each, Run):
            raise UsageError(f"{word!r} is no variable that holds a run")
    return [each for each in found if isinstance(each, Run)]


def _function(word: str, namespace: Mapping[str, Any]) -> Callable[..., Any]:
    found: Callable[..., Any] | None = namespace.get(word)
    if not callable(found):
        raise UsageError(f"{word!r} is no function of the notebook")
    return found
