"""Measure a package, and hold what was found against its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.structure import sizes
from benchmarks.structure.graph import circles, folded
from benchmarks.structure.imports import Imports, Kind, read_imports
from benchmarks.structure.request import Walk
from benchmarks.structure.rooms import (
    Rooms,
    import_violations,
    library_violations,
    reach_violations,
)
from benchmarks.structure.rows import Row
from benchmarks.structure.source import SourceFile

Limits = Mapping[str, Any]


def broken_contracts(
    imports: Imports, paths: Sequence[str], limits: Limits
) -> list[str]:
    """Return a sentence for each import of some files that is forbidden."""
    rooms = limits["rooms"]
    return [
        *import_violations(Rooms(rooms["order"]), imports, paths),
        *reach_violations(imports, rooms["never_reach"]),
        *library_violations(imports, limits["libraries"]),
    ]


class Structure:
    """A package's files, imports and rooms, with their limits."""

    def __init__(
        self, package: str, files: Mapping[str, SourceFile], limits: Limits
    ) -> None:
        self._limits = limits
        self.files = files
        self.imports = read_imports(package, files)
        self._rooms = Rooms(limits["rooms"]["order"])

    def rows(self) -> list[Row]:
        """Return what can be read from the source."""
        return [
            *self._circle_rows(),
            *self._size_rows(),
            *self._file_rows(),
            *self._line_rows(),
        ]

    def _circle_rows(self) -> Iterator[Row]:
        limits = self._limits["circles"]
        for name, kinds in (("", (Kind.TOP, Kind.TYPING)), ("_with_lazy", ())):
            files = self.imports.edges(*kinds)
            rooms = folded(files, lambda path: self._rooms.of(path) or path)
            for what, edges in (("files", files), ("rooms", rooms)):
                found = circles(edges)
                yield Row(
                    f"{what} in circles{name and ', function-level imports counted'}",
                    sum(map(len, found)),
                    limits[f"{what}{name}"],
                    structural=True,
                    found=[" <-> ".join(circle) for circle in found],
                )

    def _size_rows(self) -> Iterator[Row]:
        files, limits = self.files, self._limits["sizes"]
        small = sizes.small_files(files, self.imports)
        function, where = sizes.longest_function(files)
        field = self._limits["request_fields"]
        spelled = sizes.spelling(files, field["fields"], field["enough"])
        long = sizes.long_functions(files, limits["long_function_lines"])
        code = sum(file.code_lines for file in files.values())
        lines = sum(file.lines for file in files.values())
        longest = max(files.values(), key=lambda file: file.lines)
        name = f"files of up to {sizes.SMALL} lines with one importer"
        yield Row(name, len(small), limits["small_files"], found=small)
        name = "files that spell the request's fields"
        yield Row(name, len(spelled), field["files"], structural=True, found=spelled)
        yield Row("lines", lines, limits["lines"])
        yield Row("lines of code", code, limits["code_lines"])
        name = f"functions over {limits['long_function_lines']} lines"
        yield Row(name, len(long), limits["long_functions"], found=long)
        name = "lines of the longest function"
        yield Row(name, function, limits["function_lines"], found=[where])
        name = "lines of the longest file"
        yield Row(name, longest.lines, limits["file_lines"], found=[longest.path])

    def _file_rows(self) -> Iterator[Row]:
        limits = self._limits["files"]
        most = limits["most"]
        for folder, count in sorted(sizes.files_per_folder(self.files).items()):
            limit = limits["more"].get(folder or ".", most)
            name = f"files in {_shown(folder)}"
            yield Row(name, count, limit, structural=limit > most)

    def _line_rows(self) -> Iterator[Row]:
        limits = self._limits["lines"]
        for folder, count in sorted(sizes.lines_per_folder(self.files).items()):
            yield Row(f"lines in {_shown(folder)}", count, limits.get(folder or ".", 0))


def server_rows(server: object, limits: Limits) -> list[Row]:
    """Return how many ancestors and public names a ``Server`` has."""
    ancestors = [kind.__name__ for kind in type(server).__mro__[1:-1]]
    names = [name for name in dir(server) if not name.startswith("_")]
    return [
        Row(
            "classes that Server inherits from",
            len(ancestors),
            limits["server"]["ancestors"],
            structural=True,
            found=ancestors,
        ),
        Row(
            "public names of a Server",
            len(names),
            limits["server"]["public_names"],
            found=names,
        ),
    ]


def request_rows(
    walk: Walk, files: Mapping[str, SourceFile], limits: Limits
) -> list[Row]:
    """Return measurements of a warm request with one BLS call."""
    limit = limits["request"]
    named = limit["named_files"]
    met = sorted(walk.lines)
    shares = [f"{len(walk.lines.get(path, ()))} lines: {path}" for path in named]
    return [
        Row("files that a request executes", len(met), limit["files"], found=met),
        Row(
            "functions that a request executes",
            len(walk.functions),
            limit["functions"],
        ),
        Row("executed lines of a request", walk.executed, limit["executed_lines"]),
        Row(
            "lines of the files that a request executes",
            sum(files[path].lines for path in met),
            limit["lines_of_files"],
        ),
        Row("frames to execute", walk.frames_to_execute, limit["frames_to_execute"]),
        Row("frames of a BLS call", walk.frames_per_call, limit["frames_per_call"]),
        Row(
            f"% of a request's executed lines in {len(named)} named files",
            int(100 * walk.share(named)),
            limit["named_share"],
            at_least=True,
            found=shares,
        ),
    ]


def unnamed(named: list[str], guide: str) -> list[str]:
    """Return a sentence for each of a request's files that the guide does not name."""
    return [
        f"{path} is named in request.named_files and not in CONTRIBUTING.md, "
        "'How a request flows'."
        for path in named
        if f"`{path}`" not in guide and f"`{path.rpartition('/')[2]}`" not in guide
    ]


def _shown(folder: str) -> str:
    return f"{folder}/" if folder else "the package's own folder"
