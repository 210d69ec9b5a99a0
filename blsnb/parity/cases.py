"""Cases: the requests of a comparison, from a file or from Python values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from blsnb.engine.request.client_request import ClientRequest
from blsnb.errors import InputError

Cases = str | Path | Iterable[Mapping[str, Any]]
_NAME, _INPUTS, _FILE = "name", "inputs", "npy"
OPTIONS = frozenset(
    each.name for each in fields(ClientRequest) if each.name != "model_name"
)
_FORM = (
    'a JSON list of requests such as {"inputs": {"X": [1, 2], "IMAGE": {"npy": '
    '"image.npy"}}}'
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, and the name by which it is told of."""

    name: str
    request: ClientRequest


def asked_of(
    model_name: str,
    inputs: Mapping[str, Any] | None,
    cases: Cases | None,
    options: Mapping[str, Any],
) -> list[Asked]:
    """Return the requests of a comparison, in their order.

    Parameters
    ----------
    inputs
        Of a request that comes first; None for none.
    cases
        Further requests: a file, or what stands in one. Each has ``inputs``, and
        may have a ``name`` and all else that `blsnb.Server.infer` takes.
    options
        What `blsnb.Server.infer` takes besides, for all of them.

    Raises
    ------
    InputError
        There is no request, or one has another form.
    OSError
        A file cannot be read.
    """
    given = [] if inputs is None else [{_INPUTS: inputs}]
    if isinstance(cases, str | Path):
        given += _read(Path(cases))
    elif cases is not None:
        given += [dict(case) for case in cases]
    if not given:
        raise InputError("there is nothing to ask: give inputs, or cases")
    return [
        _asked(model_name, number, case, options)
        for number, case in enumerate(given, 1)
    ]


def _asked(
    model_name: str, number: int, case: Mapping[str, Any], options: Mapping[str, Any]
) -> Asked:
    name = str(case.get(_NAME) or f"case {number}")
    unknown = sorted({*case, *options} - OPTIONS - {_NAME})
    if unknown or not isinstance(case.get(_INPUTS), Mapping):
        wrong = f"no {', '.join(map(repr, unknown))}" if unknown else "inputs by name"
        raise InputError(f"{name}: a request has {wrong}; the form is {_FORM}")
    said = {key: value for key, value in case.items() if key != _NAME}
    return Asked(name, ClientRequest(model_name, **{**options, **said}))


def _read(path: Path) -> list[dict[str, Any]]:
    path = path.expanduser()
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
            f'{path}: input {name!r} is a value, or {{"npy": "file.npy"}} beside it'
        )
    file = path.parent / value[_FILE]
    try:
        # A pickle could do anything: texts stand in the JSON.
        return np.load(file, allow_pickle=False)
    except ValueError as error:
        raise InputError(f"{file} is no .npy file of numbers: {error}") from error
