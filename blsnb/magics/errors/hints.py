"""Hints on common mistakes: what to change, and similar names."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from blsnb.pb_utils.module import module

_EMBEDDED = frozenset({"InferenceResponseSender", "InferenceTrace", "Metric"})
"""Names that only the compiled module has."""
_MIN_SIMILARITY = 0.7


def hints(
    text: str, causes: Sequence[BaseException], namespace: Mapping[str, Any]
) -> list[str]:
    """Return advice on an error, or similar names.

    Parameters
    ----------
    text
        The whole report shown to the user.
    causes
        The exceptions that caused the error.
    namespace
        The notebook's variables.
    """
    found = (
        hint(match, namespace) if callable(hint) else hint
        for pattern, hint in _HINTS
        for match in re.finditer(pattern, text)
    )
    known = list(dict.fromkeys(filter(None, found)))
    return known or [*filter(None, map(suggestion, causes))]


def _notebook_name(found: re.Match[str], namespace: Mapping[str, Any]) -> str:
    name = found["name"]
    if name not in namespace:
        return ""
    return (
        f"The notebook has a variable {name!r}, but a model.py cannot see notebook "
        "variables: on Triton there is no notebook. Put its definition into the "
        "model's cell; or save it to a file, hand that over with --file PATH and "
        "load it in initialize(); or write a parameter into %%triton_config and "
        'read it from args["model_config"].'
    )


def _signature(found: re.Match[str], _: Mapping[str, Any]) -> str:
    # Deferred: loading the extension must not import the checks of sources.
    from blsnb.model_graph.hooks import expected_signature

    return f"{expected_signature(found['hook'])}."


_Hint = str | Callable[[re.Match[str], Mapping[str, Any]], str]
_HINTS: tuple[tuple[str, _Hint], ...] = (
    (r"NameError: name '(?P<name>\w+)' is not defined", _notebook_name),
    (
        (
            r"TypeError: (?:TritonPythonModel\.)?"
            r"(?P<hook>auto_complete_config|initialize|execute)\(\) "
            r"(?:takes|missing) \d+ (?:required )?positional argument"
        ),
        _signature,
    ),
    (
        r"has no attribute 'TritonPythonModel'",
        "Triton looks for a class of exactly this name: define "
        "class TritonPythonModel with a method execute(self, requests).",
    ),
    (
        r"-> \d+ +[%!]\w",
        "A model.py is plain Python: lines that begin with % or ! belong to the "
        "notebook. Move them to a cell of their own.",
    ),
    (
        r"Tensor\(arg0: str, arg1: numpy\.ndarray\)\n",
        "Tensor(name, array) takes its two arguments by position: a text and a NumPy "
        "array. Make one with np.array(value, dtype=np.float32), or whatever type the "
        "configuration has.",
    ),
    (
        r"raise .*TritonError\([\s\S]*must derive from BaseException",
        "TritonError is a value, not an exception: return pb_utils.InferenceResponse("
        "error=pb_utils.TritonError(...)) for this request, or raise "
        "pb_utils.TritonModelException(...) to fail all of the batch.",
    ),
    (
        r"does not implement `execute` method",
        "Triton calls execute(self, requests) of the class by this name: a method with "
        "another one, or one that is indented elsewhere, is not called.",
    ),
    (
        r"'NoneType' object has no attribute 'as_numpy'",
        "get_input_tensor_by_name() and get_output_tensor_by_name() return None where "
        "there is no tensor of that name. Compare the name with the configuration; and "
        "check has_error() of a BLS response first: a failed one has no outputs.",
    ),
)


def suggestion(error: BaseException) -> str:
    """Return a similar name for a missing one, or an empty string.

    Python suggests it, too, but only where it prints a traceback itself.
    """
    match error:
        case AttributeError(name=str() as name, obj=obj):
            if name in _EMBEDDED and isinstance(obj, types.ModuleType):
                return _embedded(name, obj)
            return _did_you_mean(name, _attributes(obj))
        case NameError(name=str() as name):
            return _did_you_mean(name, _visible(error.__traceback__))
    return ""


def _embedded(name: str, obj: types.ModuleType) -> str:
    if obj.__name__ != module.NAME:
        return ""
    return f"{name} is in {module.COMPILED_NAME}, which a model can import as well."


def _attributes(obj: object) -> list[str]:
    try:
        return dir(obj)
    except Exception:
        # Code of the user's class may fail here; its error is already reported.
        return []


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    public = [other for other in known if not other.startswith("_")]
    close = difflib.get_close_matches(name, public, 1, _MIN_SIMILARITY)
    return f"Did you mean {close[0]!r}?" if close else ""


def _visible(trace: types.TracebackType | None) -> Iterator[str]:
    """Yield the names that are visible in the innermost line."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        yield from trace.tb_frame.f_locals
        yield from trace.tb_frame.f_globals
