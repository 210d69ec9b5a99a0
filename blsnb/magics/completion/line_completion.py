"""Tab completion of magics: subcommands, options, models, inputs, types, paths."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.completer import SimpleCompletion, context_matcher

from blsnb.magics import default_server as default
from blsnb.magics import flags
from blsnb.magics.commands import bench, serve, stats, trace_files, traces, verify
from blsnb.magics.commands import standin as standins
from blsnb.magics.commands.subcommands import SUBCOMMANDS
from blsnb.magics.completion.config_completion import complete_configuration
from blsnb.magics.completion.string_completion import string_matcher
from blsnb.parts.server_parts import parts_of
from blsnb.repository.repository import models_in
from blsnb.runtimes import choosing

if TYPE_CHECKING:
    from blsnb.inference_server import Server

_OURS = re.compile(r"\s*(%?%triton(?:_model|_config|_file)?)\s+(.*)", re.DOTALL)
_TAKE_MODEL = frozenset(
    (
        "bench",
        "config",
        "diff",
        "edit",
        "infer",
        "load",
        "log",
        "standin",
        "stats",
        "try",
        "unload",
        "verify",
    )
)
_TENSOR_OPTIONS = ("--input", "--output")
_PATH_OPTIONS = ("--file", "--config")
_MAX_PATHS = 500
"""Maximum number of paths offered."""


@context_matcher()
def complete_triton(context: Any) -> dict[str, Any]:
    """Complete a line of a magic of blsnb; ignore other lines."""
    found = _OURS.fullmatch(context.text_until_cursor)
    if found is None:
        return {"completions": []}
    before = found[2].split()
    fragment = "" if not found[2] or found[2][-1].isspace() else before.pop()
    fragment, texts = _candidates(found[1].lstrip("%"), before, fragment)
    matching = [text for text in texts if text.startswith(fragment)]
    # IPython starts a new word at the colon before a tensor's type.
    return {
        "completions": [SimpleCompletion(text, type="magic") for text in matching],
        "matched_fragment": fragment,
        "suppress": bool(matching),
    }


def _candidates(
    magic: str, before: list[str], fragment: str
) -> tuple[str, Iterable[str]]:
    """Return the fragment to complete and the candidates for it."""
    match magic:
        case "triton":
            return fragment, _subcommand(before, fragment)
        case "triton_model":
            return _option(before, fragment)
        case _:
            return fragment, _names() if not before else ()


def _subcommand(before: list[str], fragment: str) -> Iterable[str]:
    match before:
        case [] | ["help"]:
            return SUBCOMMANDS
        case ["infer", name, *_]:
            return _inputs(name)
        case ["bench", name, *rest]:
            return _bench(name, rest)
        case ["verify", name, *rest]:
            return _verify(name, rest, fragment)
        case ["export"] if fragment.startswith("-"):
            return ["--in-place", "--force"]
        case ["import" | "export"]:
            return paths(fragment, folders_only=True)
        case ["import", folder, *_]:
            return [*models_in(Path(folder).expanduser()), "--no-watch"]
        case ["stats", *rest]:
            return [*(_names() if not rest else ()), *stats.FORMS]
        case ["export", _, *_]:
            return [*_names(), "--force", "--in-place"]
        case ["load", _]:
            return ["--watch"]
        case ["config", _]:
            return ["--from-run"]
        case ["trace", *rest]:
            return _trace(rest, fragment)
        case ["standin", _]:
            return standins.standin_flags().option_strings()
        case ["runtime"]:
            return choosing.NAMES
        case ["serve", *rest]:
            return _serve(rest)
        case ["tutorial", *_]:
            return ["--force"]
        case [subcommand] if subcommand in _TAKE_MODEL:
            return _names()
    return ()


def _bench(name: str, before: list[str]) -> Iterable[str]:
    if before[-1:] == ["--trace-level"]:
        return bench.LEVELS
    options = bench.bench_flags().option_strings()
    return () if before[-1:] and before[-1] in options else [*_inputs(name), *options]


def _verify(name: str, before: list[str], fragment: str) -> Iterable[str]:
    last = before[-1] if before else ""
    if last == "--cases":
        return paths(fragment)
    if last == "--target":
        return ("local", "grpc://")
    options = verify.verify_flags().option_strings()
    valueless = ("", "--install")
    wants_value = last in options and last not in valueless
    return () if wants_value else [*_inputs(name), *options]


def _serve(before: list[str]) -> Iterable[str]:
    options = serve.serve_flags().option_strings()
    wants_value = before[-1:] and before[-1] in options and before[-1] != "--stop"
    return () if wants_value else options


def _trace(before: list[str], fragment: str) -> Iterable[str]:
    if before[-1:] == ["--format"]:
        return trace_files.FORMATS
    options = traces.trace_flags().option_strings()
    if before[-1:] and before[-1] in options:
        return () if before[-1] == "--run" else paths(fragment)
    server = default.started()
    runs = [] if before or server is None else [record.id for record in server.runs]
    files = [] if before else paths(fragment)
    return [*runs, *options, *files]


def _option(before: list[str], fragment: str) -> tuple[str, Iterable[str]]:
    last = before[-1] if before else ""
    if last in _TENSOR_OPTIONS:
        return _type(fragment)
    if last in _PATH_OPTIONS:
        return fragment, paths(fragment)
    if last == "--kind":
        return fragment, ("cpu", "gpu")
    if fragment.startswith("-"):
        return fragment, flags.model_flags().option_strings()
    return fragment, () if before else _names()


def _type(fragment: str) -> tuple[str, Iterable[str]]:
    from blsnb.tensors.dtypes import BY_DATATYPE

    _, colon, written = fragment.rpartition(":")
    return (written, [f"{name}[" for name in BY_DATATYPE]) if colon else (fragment, ())


def _names() -> list[str]:
    server = default.started()
    return [] if server is None else parts_of(server).repository.names()


def _inputs(name: str) -> list[str]:
    server = default.started()
    if server is None or name not in parts_of(server).repository.names():
        return []
    return [f"{spec.partition(':')[0]}=" for spec in _specs(server, name)]


def _specs(server: Server, name: str) -> Iterable[str]:
    return (spec.replace("?:", ":") for spec in server.model(name).inputs)


def paths(fragment: str, *, folders_only: bool = False) -> list[str]:
    """Return the paths that start with a fragment; folders end with a slash.

    Hidden files are offered only after a dot. Names that contain whitespace, which
    would end the word, are never offered.
    """
    head, slash, begun = fragment.rpartition("/")
    if fragment == "~":
        return ["~/"]
    folder = os.path.expanduser(head + slash) or "."
    names = sorted(_entries(folder, begun, folders_only))
    return [f"{head}{slash}{name}" for name in names[:_MAX_PATHS]]


def _entries(folder: str, begun: str, folders_only: bool) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                hidden = name.startswith(".") and not begun.startswith(".")
                if hidden or not name.startswith(begun) or any(map(str.isspace, name)):
                    continue
                if entry.is_dir():
                    yield f"{name}/"
                elif not folders_only:
                    yield name
    except OSError:
        # A missing or unreadable folder has no candidates.
        return


def register(shell: Any) -> Callable[[], None]:
    """Add the completion to a shell; return a function that removes it."""
    matchers = shell.Completer.custom_matchers
    ours = [complete_triton, complete_configuration, string_matcher(shell)]
    matchers.extend(ours)

    def unregister() -> None:
        matchers[:] = [each for each in matchers if each not in ours]

    return unregister
