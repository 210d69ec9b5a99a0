"""Tab completion of magics: subcommands, options, models, inputs, types, paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from IPython.core.completer import SimpleCompletion

from blsnb.magics import default_server as default
from blsnb.magics import flags
from blsnb.magics.commands import stats
from blsnb.magics.commands.subcommands import SUBCOMMANDS
from blsnb.magics.commands.usages import USAGES
from blsnb.magics.completion import known_models
from blsnb.magics.completion.choices import TARGETS
from blsnb.magics.completion.known_models import model_names
from blsnb.magics.flags import Flags
from blsnb.repository.repository import models_in
from blsnb.runtimes import NAMES

_FILES = ("FILE", "PATH[:DEST]", "NAME_OR_PATH")
_FOLDER = "FOLDER"
_MAX_PATHS = 500
"""Maximum number of paths offered."""


def option_values(
    parser: Flags, before: list[str], fragment: str
) -> Iterable[str] | None:
    """Return the candidates for the value of an option.

    Parameters
    ----------
    before
        The words before the fragment, without the magic.

    Returns
    -------
    Iterable or None
        None if the fragment is not a value.
    """
    if before[-2:-1] == ["--as"]:
        return model_names()
    last = before[-1] if before else ""
    values = parser.values_of(last)
    if values is None:
        return None
    if last == "--target":
        return TARGETS
    if values.metavar in _FILES:
        return paths(fragment)
    if values.metavar == _FOLDER:
        return paths(fragment, folders_only=True)
    if last == "--as":
        return ("ensemble",)
    is_option = values.may_be_left_out and fragment.startswith("-")
    return None if is_option else values.choices


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


_OURS = re.compile(r"\s*(%?%triton(?:_model|_config|_file)?)\s+(.*)", re.DOTALL)
_TAKE_MODEL = [n for n, usage in USAGES.items() if usage.startswith(("NAME", "[NAME"))]
_TENSOR_OPTIONS = ("--input", "--output")
_OPTIONS = {"config": ["--from-run"], "load": ["--watch"], "stats": stats.FORMS}
"""The options of subcommands that have no parser."""
_MODEL = flags.model_flags()


def completions(context: Any) -> dict[str, Any]:
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
        case _ if before:
            return fragment, ()
        case "triton_file":
            return fragment, _file(fragment)
        case _:
            return fragment, known_models.model_names()


def _subcommand(before: list[str], fragment: str) -> Iterable[str]:
    if before in ([], ["help"]):
        return SUBCOMMANDS
    name, *rest = before
    subcommand = SUBCOMMANDS.get(name)
    parser = subcommand.flags() if subcommand and subcommand.flags else None
    if parser is not None:
        expected = option_values(parser, rest, fragment)
        if expected is not None:
            return expected
    options = _OPTIONS.get(name, ()) if parser is None else parser.option_strings()
    if fragment.startswith("-"):
        return options
    offered = [each for each in options if rest and each != "--help"]
    return [*_arguments(name, rest, fragment), *offered]


def _arguments(name: str, before: list[str], fragment: str) -> Iterable[str]:
    """Return the candidates for a positional argument of a subcommand."""
    match name, before:
        case (("infer" | "bench" | "plan" | "verify"), [model, *_]):
            return _inputs(model)
        case "import", [folder, *_]:
            return models_in(Path(os.path.expanduser(folder)))
        case (("import" | "export" | "tutorial"), []):
            return paths(fragment, folders_only=True)
        case "export", _:
            return known_models.model_names()
        case "trace", []:
            return [*_runs(), *paths(fragment)]
        case "watch", []:
            return paths(fragment)
        case "runtime", []:
            return NAMES
        case _, [] if name in _TAKE_MODEL:
            return known_models.model_names()
    return ()


def _runs() -> list[str]:
    server = default.started()
    return [] if server is None else [record.id for record in server.runs]


def _option(before: list[str], fragment: str) -> tuple[str, Iterable[str]]:
    """Return the fragment and its candidates in a line of ``%%triton_model``."""
    last = before[-1] if before else ""
    if last in _TENSOR_OPTIONS:
        return _type(fragment)
    if last == "--version" and not fragment.startswith("-"):
        return fragment, known_models.versions(before[0])
    expected = option_values(_MODEL, before, fragment)
    if expected is not None:
        return fragment, expected
    if fragment.startswith("-"):
        return fragment, _MODEL.option_strings()
    return fragment, () if before else known_models.model_names()


def _file(fragment: str) -> Iterable[str]:
    """Return the models, each with the folders of its versions after a slash."""
    model, slash, _ = fragment.partition("/")
    if not slash:
        return known_models.model_names()
    return [f"{model}/{version}/" for version in known_models.versions(model)]


def _type(fragment: str) -> tuple[str, Iterable[str]]:
    from blsnb.tensors.dtypes import BY_DATATYPE

    _, colon, written = fragment.rpartition(":")
    return (written, [f"{name}[" for name in BY_DATATYPE]) if colon else (fragment, ())


def _inputs(model: str) -> list[str]:
    return [f"{name}=" for name in known_models.tensor_names(model, "input")]
