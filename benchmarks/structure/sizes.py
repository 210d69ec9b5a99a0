"""Sizes of a package: files, lines, functions, and files that repeat each other."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.structure.imports import Imports
from benchmarks.structure.source import SourceFile, length

SMALL = 70
"""Maximum number of lines of a small file."""

Files = Mapping[str, SourceFile]


def files_per_folder(files: Files) -> dict[str, int]:
    """Return the number of files in each folder itself, without ``__init__.py``."""
    return _per_folder(file for file in files.values() if file.name != "__init__.py")


def lines_per_folder(files: Files) -> dict[str, int]:
    """Return the number of lines in each folder itself."""
    counts: Counter[str] = Counter()
    for file in files.values():
        counts[file.folder] += file.lines
    return dict(counts)


def small_files(files: Files, imports: Imports) -> list[str]:
    """Return the files of up to `SMALL` lines that exactly one other file imports."""
    pairs = {(each.importer, each.imported) for each in imports.internal}
    importers = Counter(imported for _, imported in pairs)
    return [
        path
        for path, file in files.items()
        if file.lines <= SMALL and file.name != "__init__.py" and importers[path] == 1
    ]


def longest_function(files: Files) -> tuple[int, str]:
    """Return the number of lines of the longest function, and where it stands."""
    functions = (
        (length(function), f"{path}:{function.lineno} {function.name}")
        for path, file in files.items()
        for function in file.functions
    )
    return max(functions, default=(0, ""))


def long_functions(files: Files, limit: int) -> list[str]:
    """Return the functions with more lines than a limit."""
    return [
        f"{path}:{function.lineno} {function.name}"
        for path, file in files.items()
        for function in file.functions
        if length(function) > limit
    ]


def spelling(files: Files, fields: Sequence[Sequence[str]], enough: int) -> list[str]:
    """Return the files that spell at least ``enough`` of some fields out.

    Each field is given by its spellings. What counts is code: names, attributes,
    parameters, keywords and strings that are exactly a field's name; a leading
    underscore does not matter, and docstrings and comments do not count. A file that
    spells most of the fields of a value takes it apart or puts it together, so a new
    field has to be added there.
    """
    return [
        path
        for path, file in files.items()
        if sum(not _words(file).isdisjoint(field) for field in fields) >= enough
    ]


def _words(file: SourceFile) -> set[str]:
    documented = {id(node.value) for node in file.docstrings}
    words = (_word(node) for node in file.nodes if id(node) not in documented)
    return {word.removeprefix("_") for word in words if word}


def _word(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
            return word
        case ast.keyword(arg=word):
            return word
        case ast.Constant(value=str(word)):
            return word
    return None


def _per_folder(files: Iterable[SourceFile]) -> dict[str, int]:
    return dict(Counter(file.folder for file in files))
