"""Parse the line of a magic: words, quotes, variables, ``INPUT=EXPRESSION``."""

from __future__ import annotations

import argparse
import io
import re
import tokenize
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from IPython.core.error import UsageError
from IPython.utils.text import DollarFormatter

from blsnb.magics.flags import Flags

_PIECE = r"""[^\s"'{]|"[^"]*"|'[^']*'|\{[^{}]*\}|[{"']"""
_WORD = f"(?:{_PIECE})+"
_QUOTED = r"""(\{[^{}]*\})|"([^"]*)"|'([^']*)'"""


class Line(NamedTuple):
    """The text after a subcommand, and the context in which it runs."""

    text: str
    namespace: dict[str, Any]
    """The variables that the text may use."""
    live: bool
    """Whether there is a page that can show progress and widgets."""

    @property
    def words(self) -> list[str]:
        """The words of the text, expanded."""
        return words(self.text, self.namespace)


class RequestLine(NamedTuple):
    """The model, the inputs and the options of a line."""

    name: str
    inputs: dict[str, Any]
    options: argparse.Namespace


def namespace(shell: Any, local_ns: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the variables that a line may use: the notebook's and local ones."""
    return {**shell.user_ns, **(local_ns or {})}


def words(line: str, namespace: Mapping[str, Any]) -> list[str]:
    """Split a line at spaces, then expand ``{name}`` and ``$name`` in each word.

    A value that contains a space stays one word.
    """
    return [expand(_unquoted(word), namespace) for word in re.findall(_WORD, line)]


def _unquoted(word: str) -> str:
    return re.sub(_QUOTED, lambda match: "".join(filter(None, match.groups())), word)


def first_word(text: str) -> tuple[str, str]:
    """Return the first word, without its quotes, and the text after it."""
    found = re.match(rf"\s*({_WORD})?", text)
    assert found is not None
    return _unquoted(found[1] or ""), text[found.end() :].strip()


def expand(text: str, namespace: Mapping[str, Any]) -> str:
    """Replace ``{name}`` and ``$name`` as IPython does; unknown names stay."""
    if "{" not in text and "$" not in text:
        return text
    try:
        expanded: str = DollarFormatter().vformat(text, args=[], kwargs=namespace)
    except Exception:
        # The braces may contain any expression, and so raise any exception.
        return text
    return expanded


def assignments(text: str) -> dict[str, str]:
    """Split ``A=expr B=expr`` into names and Python expressions.

    Each begins at a ``NAME=`` outside all brackets; a name that is not a Python
    identifier is quoted.
    """
    try:
        starts = list(_starts(text))
    except (tokenize.TokenError, SyntaxError) as error:
        raise UsageError(f"cannot read {text!r}: {error.args[0]}") from error
    if not text.strip():
        return {}
    if not starts or text[: starts[0][1]].strip():
        raise UsageError(f"expected INPUT=expression, not {text!r}")
    [(name, count)] = Counter(name for name, *_ in starts).most_common(1)
    if count > 1:
        raise UsageError(f"input {name!r} is given twice")
    ends = [start for _, start, _ in starts[1:]] + [len(text)]
    return {
        name: text[value:end].strip()
        for (name, _, value), end in zip(starts, ends, strict=True)
    }


def _starts(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each name, its start, and the start of its expression."""
    depth = 0
    before: tokenize.TokenInfo | None = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string in ("(", "[", "{"):
            depth += 1
        elif token.string in (")", "]", "}"):
            depth -= 1
        elif token.string == "=" and depth == 0 and before is not None:
            named = before.type in (tokenize.NAME, tokenize.STRING)
            if named:
                yield before.string.strip("\"'"), before.start[1], token.end[1]
        before = token


def request_line(line: Line, flags: Flags, usage: str) -> RequestLine:
    """Parse ``NAME INPUT=EXPRESSION ...`` with options anywhere in it."""
    options, rest = parsed_options(line, flags)
    namespace = line.namespace
    name, assigned = first_word(rest)
    if not name or "=" in name:
        raise UsageError(f"usage: {usage}")
    inputs = {
        tensor: evaluated(tensor, expression, namespace)
        for tensor, expression in assignments(assigned).items()
    }
    return RequestLine(expand(name, namespace), inputs, options)


def parsed_options(line: Line, flags: Flags) -> tuple[argparse.Namespace, str]:
    """Return the options, which may stand anywhere in a line, and the rest of it."""
    written, rest = flags.split_options(line.text)
    found = [word for part in written for word in words(part, line.namespace)]
    return flags.parse(found), rest


def evaluated(name: str, expression: str, namespace: dict[str, Any]) -> Any:
    """Evaluate the expression of an input or argument.

    Raises
    ------
    UsageError
        The expression has an invalid syntax, or an unknown name.
    """
    try:
        return eval(compile(expression, f"<%triton {name}=...>", "eval"), namespace)
    except (SyntaxError, NameError) as error:
        if _is_raised_below(error):
            raise
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise UsageError(
            f"{name}={expression}: {reason}; expected an expression of Python, with "
            "texts and paths in quotes"
        ) from error


def _is_raised_below(error: BaseException) -> bool:
    """Whether a function that the expression calls raised the error."""
    return len(list(traceback.walk_tb(error.__traceback__))) > 2
