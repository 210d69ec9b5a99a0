"""The entries of a form, and the values that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, assert_never

import numpy as np

from blsnb.arguments import did_you_mean
from blsnb.errors import InputError
from blsnb.form.inputs import InputSpec
from blsnb.form.random_values import parse_dims, random_value
from blsnb.form.typed_values import typed_value
from blsnb.form.uploads import Upload, uploaded_value
from blsnb.form.value import FieldError, Value
from blsnb.printable import printable
from blsnb.tensors.convert import to_ref
from blsnb.tensors.dtypes import BY_DATATYPE


class InputSource(StrEnum):
    """Where the value of an input comes from, as the form names it."""

    TYPED = "Type in"
    RANDOM = "Random"
    FILE = "File"
    VARIABLE = "Variable"
    NONE = "Leave out"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a user has entered for one input.

    Parameters
    ----------
    source
        The part of the entry that counts.
    text
        Numbers or text, or the name of a variable.
    shape, seed
        Shape and seed of random values.
    upload
        The file; None before one is chosen.
    """

    source: InputSource
    text: str = ""
    shape: str = ""
    seed: int = 0
    upload: Upload | None = None


def read_entry(
    entry: Entry, spec: InputSpec, variables: Mapping[str, Any]
) -> Value | None:
    """Return the value of an input; None if it is left out.

    Raises
    ------
    FieldError
        The entry gives no value that the input takes.
    """
    match entry.source:
        case InputSource.NONE:
            if not spec.optional:
                raise FieldError(f"the model requires {printable(spec.name)}")
            return None
        case InputSource.TYPED:
            value = typed_value(entry.text, spec)
        case InputSource.RANDOM:
            value = random_value(spec, parse_dims(entry.shape), entry.seed)
        case InputSource.FILE:
            value = uploaded_value(entry.upload, spec)
        case InputSource.VARIABLE:
            value = _variable(entry.text.strip(), variables)
        case _:
            assert_never(entry.source)
    _check(value.value, spec)
    return value


def _variable(name: str, variables: Mapping[str, Any]) -> Value:
    if not name.isidentifier():
        raise FieldError("enter the name of a variable of the notebook")
    if name not in variables:
        similar = did_you_mean(name, variables)
        raise FieldError(f"the notebook has no variable {name!r}. {similar}".rstrip())
    return Value(variables[name], name)


def _check(value: Any, spec: InputSpec) -> None:
    """Check datatype and shape as far as the host's memory tells."""
    if not isinstance(value, np.ndarray | list | tuple | int | float | str | bytes):
        return
    dtype = BY_DATATYPE.get(spec.datatype)
    try:
        ref = to_ref(spec.name, value, dtype, len(spec.shape))
    except InputError as error:
        raise FieldError(str(error)) from error
    if dtype is not None and ref.dtype is not dtype:
        raise FieldError(f"the value is {ref.dtype.datatype}, expected {spec.datatype}")
    if not spec.takes(ref.shape):
        raise FieldError(
            f"the value has shape {list(ref.shape)}, expected {list(spec.shape)}"
        )


class FormReading(NamedTuple):
    """The values of all inputs of a form, or what is wrong with them."""

    values: dict[str, Value]
    errors: dict[str, str]


def read_entries(
    entries: Mapping[str, Entry],
    specs: Mapping[str, InputSpec],
    variables: Mapping[str, Any],
) -> FormReading:
    """Return the values of the inputs by name, and errors by name."""
    reading = FormReading({}, {})
    for name, entry in entries.items():
        try:
            value = read_entry(entry, specs[name], variables)
        except FieldError as error:
            reading.errors[name] = str(error)
        else:
            if value is not None:
                reading.values[name] = value
    return reading
