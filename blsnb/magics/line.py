"""A magic's line as words: quotes, braces and the notebook's variables."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from typing import Any

from IPython.core.error import UsageError
from IPython.utils.text import DollarFormatter

_PIECE = r"""[^\s"'{]|"[^"]*"|'[^']*'|\{[^{}]*\}|[{"']"""
_WORD = re.compile(f"(?:{_PIECE})+")
_QUOTED = re.compile(r"""(\{[^{}]*\})|"([^"]*)"|'([^']*)'""")


def namespace(shell: Any, local_ns: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the names that a magic's line may use: the notebook's, and local ones."""
    return {**shell.user_ns, **(local_ns or {})}


def words(line: str, namespace: Mapping[str, Any]) -> list[str]:
    """Split a line at spaces, and put in the values of ``{name}`` and ``$name``.

    Values are put in after the split, so that a path with a space in it stays
    one word. What names no variable stays as it is.
    """
    return [expand(_unquoted(word), namespace) for word in _WORD.findall(line)]


def _unquoted(word: str) -> str:
    return _QUOTED.sub(lambda match: "".join(filter(None, match.groups())), word)


def expand(text: str, namespace: Mapping[str, Any]) -> str:
    """Return a text with ``{name}`` and ``$name`` replaced, as IPython does."""
    if "{" not in text and "$" not in text:
        return text
    try:
        expanded: str = DollarFormatter().vformat(text, args=[], kwargs=namespace)
    except Exception:
        # Any expression may stand in the braces, and fail in any way.
        return text
    return expanded


def assignments(text: str) -> dict[str, str]:
    """Split ``A=expr B=expr`` into names and Python expressions.

    A new one begins at ``NAME=`` outside of all brackets; a name that is no
    Python name is quoted.

    Raises
    ------
    UsageError
        The text begins otherwise, or brackets do not match.
    """
    try:
        starts = list(_starts(text))
    except (tokenize.TokenError, SyntaxError) as error:
        raise UsageError(f"cannot read {text!r}: {error.args[0]}") from error
    if not text.strip():
        return {}
    if not starts or text[: starts[0][1]].strip():
        raise UsageError(f"expected INPUT=expression, not {text!r}")
    ends = [start for _, start, _ in starts[1:]] + [len(text)]
    return {
        name: text[value:end].strip()
        for (name, _, value), end in zip(starts, ends, strict=True)
    }


def _starts(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each name, where it begins, and where its expression does."""
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
