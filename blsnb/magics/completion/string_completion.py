"""Tab completion in strings of Python code: models, inputs and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from IPython.core.completer import SimpleCompletion

from blsnb.magics.completion.choices import argument_choices, option_choices
from blsnb.magics.completion.cursor import (
    Bracket,
    Cursor,
    cursor_at_end,
    text_until_cursor,
)
from blsnb.magics.completion.known_models import (
    Direction,
    all_tensor_names,
    model_names,
    tensor_names,
    versions,
)

_REQUESTS = frozenset({"infer", "async_infer", "stream", "async_stream"})
_TAKE_MODEL = _REQUESTS | {
    *("load", "unload", "remove", "model", "config", "config_text", "watch", "unwatch"),
    *("standin", "standing_in", "bench", "compare", "statistics", "batching", "form"),
    *("evaluate", "plan", "is_model_ready", "load_model", "unload_model"),
}
"""Methods whose first argument is a model's name."""
_VERSIONS = ("version", "model_version")
_MODEL_CELL = re.compile(r"\s*%%?triton_model\s+(?P<name>[\w.-]+)(?P<options>[^\n]*)")


def completions(context: Any, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Complete names of models and tensors, and values of enumerated arguments."""
    text = text_until_cursor(context)
    cursor = cursor_at_end(text)
    if cursor is None:
        return {"completions": []}
    names = dict.fromkeys(_candidates(cursor, text, namespace))
    found = [name for name in names if name.startswith(cursor.fragment)]
    return {
        "completions": [SimpleCompletion(name, type="name") for name in found],
        "matched_fragment": cursor.fragment,
        "suppress": bool(found),
    }


def _candidates(
    cursor: Cursor, text: str, namespace: Mapping[str, Any]
) -> Iterable[str]:
    """Return the names that may be in the string, or the value, at the cursor."""
    if not cursor.brackets:
        return option_choices(cursor.before)
    inner = cursor.brackets[-1]
    if not cursor.in_string or inner.keyword in _VERSIONS:
        return versions(_model_in(inner)) if inner.keyword in _VERSIONS else ()
    if inner.kind == "(" and (found := argument_choices(inner)):
        return found
    outer = cursor.brackets[-2] if len(cursor.brackets) > 1 else None
    if inner.kind == "(" and _is_model(inner, namespace):
        return model_names()
    if inner.kind == "(" and inner.index == 1 and not inner.keyword:
        if inner.function == "get_input_tensor_by_name":
            return _own_tensors(text, "input")
        if inner.function == "get_output_tensor_by_name":
            return all_tensor_names("output")
    if inner.kind == "(" and inner.function == "Tensor" and not inner.index:
        return [*_own_tensors(text, "output"), *all_tensor_names("input")]
    if inner.kind == "[" and inner.owner:
        return _outputs_of_run(namespace.get(inner.owner))
    if outer is None:
        return ()
    if inner.kind == "{" and inner.is_key and outer.function in _TAKE_MODEL:
        return tensor_names(_model_in(outer), "input")
    if inner.kind == "[" and outer.keyword in ("outputs", "requested_output_names"):
        name = _model_in(outer)
        return tensor_names(name, "output") if name else all_tensor_names("output")
    return ()


def _is_model(bracket: Bracket, namespace: Mapping[str, Any]) -> bool:
    """Whether the current argument of a call is the name of a model."""
    if bracket.keyword:
        return bracket.keyword == "model_name"
    owner, _, function = bracket.owner.rpartition(".")
    if bracket.index or function not in _TAKE_MODEL:
        return False
    is_server = hasattr(namespace.get(owner), "_parts")
    return is_server or owner in ("blsnb", "pb_utils", "server")


def _model_in(call: Bracket) -> str:
    """Return the model's name in a call; empty if it is not typed yet."""
    return call.texts.get("model_name") or call.texts.get(0, "")


def _own_tensors(text: str, kind: Direction) -> list[str]:
    """Return the tensors of the model that this cell defines."""
    cell = _MODEL_CELL.match(text)
    if cell is None:
        return list(all_tensor_names(kind))
    given = re.findall(rf"--{kind}[ =]+([\w.-]+)\??:", cell["options"])
    return [*given, *tensor_names(cell["name"], kind)]


def _outputs_of_run(value: Any) -> Iterable[str]:
    from blsnb.results.response import Response
    from blsnb.results.run import Run

    return value.outputs if isinstance(value, Run | Response) else ()
