"""The requests of a comparison, from a file or from Python values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from blsnb.arguments import path_of, several
from blsnb.errors import InputError
from blsnb.parts.requests import ClientRequest, client_request
from blsnb.request_fields import RequestOptions, expect

Cases = str | Path | Iterable[Mapping[str, Any]]
_NAME, _INPUTS, _FILE = "name", "inputs", "npy"
OPTIONS = frozenset({_INPUTS, *RequestOptions.__annotations__})
_FORM = (
    'a JSON list of requests such as {"inputs": {"X": [1, 2], "IMAGE": {"npy": '
    '"image.npy"}}}'
)


@dataclass(frozen=True, slots=True)
class NamedRequest:
    """One request, and its name in results."""

    name: str
    request: ClientRequest


def requests_of(
    model_name: str,
    inputs: Mapping[str, Any] | None,
    cases: Cases | None,
    options: Mapping[str, Any],
) -> list[NamedRequest]:
    """Return the requests of a comparison, in order.

    Parameters
    ----------
    inputs
        Inputs of the first request; None if there are only cases.
    cases
        Further requests: a file, or its content as Python values. Each has
        ``inputs``, and may have a ``name`` and any option of `blsnb.Server.infer`.
    options
        Options of `blsnb.Server.infer` for all requests; those of a case override
        them.

    Raises
    ------
    InputError
        There is no request, or one does not have the expected form.
    OSError
        A file cannot be read.
    """
    given = [] if inputs is None else [{_INPUTS: inputs}]
    if isinstance(cases, str | Path):
        given += _read(Path(cases))
    elif cases is not None:
        for each in several(cases):
            form = "requests such as {'inputs': {'X': [1, 2]}}"
            expect("cases", each, Mapping, form)
            given.append(dict(each))
    if not given:
        raise InputError("there is no request to compare: pass inputs or cases")
    return [
        _request(model_name, number, case, options)
        for number, case in enumerate(given, 1)
    ]


def _request(
    model_name: str, number: int, case: Mapping[str, Any], options: Mapping[str, Any]
) -> NamedRequest:
    name = str(case.get(_NAME) or f"case {number}")
    unknown = sorted({*case, *options} - OPTIONS - {_NAME})
    if unknown:
        wrong = f"unknown field {', '.join(map(repr, unknown))}"
        raise InputError(f"{name}: {wrong}; expected {_FORM}")
    if not isinstance(case.get(_INPUTS), Mapping):
        raise InputError(f"{name}: inputs by name are missing; expected {_FORM}")
    own = {key: value for key, value in case.items() if key != _NAME}
    inputs = own.pop(_INPUTS)
    given = cast("RequestOptions", {**options, **own})
    return NamedRequest(name, client_request(model_name, inputs, given))


def _read(path: Path) -> list[dict[str, Any]]:
    path = path_of(cases=path)
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not {_FORM}: {error}") from error
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise InputError(f"{path} is not {_FORM}")
    return [{**case, **_loaded(case, path)} for case in found]


def _loaded(case: Mapping[str, Any], path: Path) -> dict[str, Any]:
    inputs = case.get(_INPUTS)
    if not isinstance(inputs, dict):
        return {}
    return {_INPUTS: {name: _value(name, it, path) for name, it in inputs.items()}}


def _value(name: str, value: Any, path: Path) -> Any:
    if not isinstance(value, dict):
        return value
    if list(value) != [_FILE] or not isinstance(value[_FILE], str):
        raise InputError(
            f"{path}: input {name!r} is an object with the keys {list(value)}; "
            'expected a value, or {"npy": "file.npy"} with a path relative to the file'
        )
    file = path.parent / value[_FILE]
    try:
        with file.open("rb") as opened:
            # `numpy.load` would also open archives and pickles. A pickle could run
            # anything when it is read; strings belong in the JSON.
            array: np.ndarray[Any, Any] = np.lib.format.read_array(
                opened, allow_pickle=False
            )
    except ValueError as error:
        raise InputError(f"{file} is not a .npy file of numbers: {error}") from error
    return array
