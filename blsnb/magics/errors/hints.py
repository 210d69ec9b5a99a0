"""What to do about common mistakes in a cell that becomes a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_Hint = Callable[[re.Match[str], Mapping[str, Any]], str]


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


def _no_model_class(found: re.Match[str], namespace: Mapping[str, Any]) -> str:
    return (
        "Triton looks for a class of exactly this name: define "
        "class TritonPythonModel with a method execute(self, requests)."
    )


def _magic_line(found: re.Match[str], namespace: Mapping[str, Any]) -> str:
    return (
        "A model.py is plain Python: lines that begin with % or ! belong to the "
        "notebook. Move them to a cell of their own."
    )


def _not_an_array(found: re.Match[str], namespace: Mapping[str, Any]) -> str:
    return (
        "Tensor(name, array) takes its two arguments by position: a text and a NumPy "
        "array. Make one with np.array(value, dtype=np.float32), or whatever type the "
        "configuration has."
    )


def _no_exception(found: re.Match[str], namespace: Mapping[str, Any]) -> str:
    return (
        "TritonError is a value, not an exception: return pb_utils.InferenceResponse("
        "error=pb_utils.TritonError(...)) for this request, or raise "
        "pb_utils.TritonModelException(...) to fail all of the batch."
    )


def _no_execute(found: re.Match[str], namespace: Mapping[str, Any]) -> str:
    return (
        "Triton calls execute(self, requests) of the class by this name: a method with "
        "another one, or one that is indented elsewhere, is not called."
    )


def _no_tensor(found: re.Match[str], namespace: Mapping[str, Any]) -> str:
    return (
        "get_input_tensor_by_name() and get_output_tensor_by_name() return None where "
        "there is no tensor of that name. Compare the name with the configuration; and "
        "ask a BLS response has_error() first: a failed one has no outputs."
    )


_HINTS: tuple[tuple[re.Pattern[str], _Hint], ...] = (
    (re.compile(r"NameError: name '(?P<name>\w+)' is not defined"), _notebook_name),
    (re.compile(r"has no attribute 'TritonPythonModel'"), _no_model_class),
    (re.compile(r"-> \d+ +[%!]\w"), _magic_line),
    (re.compile(r"Tensor\(arg0: str, arg1: numpy\.ndarray\)\n"), _not_an_array),
    (
        re.compile(r"raise .*TritonError\([\s\S]*must derive from BaseException"),
        _no_exception,
    ),
    (re.compile(r"does not implement `execute` method"), _no_execute),
    (re.compile(r"'NoneType' object has no attribute 'as_numpy'"), _no_tensor),
)


def hints(text: str, namespace: Mapping[str, Any]) -> list[str]:
    """Return what to do about a reported error.

    Parameters
    ----------
    text
        All that the reader is shown of it.
    namespace
        The notebook's variables.
    """
    found = (
        hint(match, namespace)
        for pattern, hint in _HINTS
        for match in pattern.finditer(text)
    )
    return list(dict.fromkeys(filter(None, found)))
