"""A text as exporters of notebooks need it."""

from __future__ import annotations

import re

_VERBATIM = r"\end{verbatim}"


def exported(text: str) -> dict[str, str]:
    """Return a text with fixed columns as Markdown, as LaTeX, and plain.

    LaTeX has a form of its own, since exporters convert Markdown by pandoc.
    """
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = text.replace(_VERBATIM, r"\end {verbatim}")
    return {
        "text/markdown": f"{fence}text\n{text}\n{fence}",
        "text/latex": f"\\begin{{verbatim}}\n{body}\n{_VERBATIM}",
        "text/plain": text,
    }
