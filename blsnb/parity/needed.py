"""Which models a comparison needs: those that are asked, and those that they may ask.

Pure: told the texts of the models' files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_TEXTS = frozenset({".py", ".pbtxt", ".json", ".txt", ".toml", ".yaml", ".yml"})
_MOST_BYTES = 1 << 20


def needed(asked: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """Return the models that are needed, sorted.

    A model is taken to need another one if it names it in quotes, in its source, its
    configuration or a file beside them.

    Parameters
    ----------
    asked
        Models that are needed in any case, such as those that were called.
    texts
        Of each model what its files say.
    """
    found: set[str] = set()
    waiting = [name for name in asked if name in texts]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _named(texts[name], texts)
    return sorted(found)


def _named(text: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if any(f"{quote}{name}{quote}" in text for quote in "\"'"):
            yield name


def texts_in(folder: Path) -> str:
    """Return what the small text files of a model's folder say."""
    return "\n".join(
        path.read_text("utf-8", "replace")
        for path in sorted(folder.rglob("*"))
        if path.suffix in _TEXTS
        and path.is_file()
        and path.stat().st_size <= _MOST_BYTES
    )
