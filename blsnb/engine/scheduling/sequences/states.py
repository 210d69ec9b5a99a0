"""Implicit state: extra inputs of models with ``state``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import data_type_name
from blsnb.tensors.byte_strings import unpack
from blsnb.tensors.dtypes import BY_DATA_TYPE, DType

FOLDER = "initial_state"
"""Folder of a model for the files that ``data_file`` names."""


class States:
    """The state inputs of a model.

    A Python model cannot write its state back, so every request gets the initial
    state.

    Parameters
    ----------
    read
        Returns the bytes of a file in `FOLDER` of the model's folder, or raises
        OSError.

    Raises
    ------
    ModelConfigError
        At stage ``create``: an initial state does not match its state, or its file
        cannot be read or is too short.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, GenerateInitialStateData;
    src/sequence_state.cc, SequenceStates::Initialize
    """

    def __init__(self, config: ModelConfig, read: Callable[[str], bytes]) -> None:
        check_states(config)
        batching = config.message.sequence_batching
        # Triton keeps the first state of each output.
        states: dict[str, Any] = {}
        for state in batching.state:
            states.setdefault(state.output_name, state)
        self._initial = {
            state.input_name: _initial(state, config.max_batch_size, read)
            for state in states.values()
        }

    def of(self, ready: bool) -> dict[str, NDArray[Any]]:
        """Return copies of the state tensors by name; empty ones for a null request."""
        if ready:
            return {name: array.copy() for name, array in self._initial.items()}
        return {
            name: np.full_like(array, b"" if array.dtype == object else 0)
            for name, array in self._initial.items()
        }


def _initial(
    state: Any, max_batch_size: int, read: Callable[[str], bytes]
) -> NDArray[Any]:
    """Return the tensor of an initial state; a variable dimension is 1."""
    dims = [1 if dim == -1 else int(dim) for dim in state.dims]
    shape = [1, *dims] if max_batch_size else dims
    dtype = BY_DATA_TYPE[data_type_name(state.data_type)]
    data = b""
    for initial in state.initial_state:
        data = _data(initial, dtype, read)
    if dtype.byte_size:
        size = math.prod(shape) * dtype.byte_size
        data = data[:size].ljust(size, b"\0")
        numpy_dtype = dtype.dtype or np.dtype(np.uint16)
        return np.frombuffer(data, numpy_dtype).reshape(shape)
    return _texts(data, shape)


def _data(initial: Any, dtype: DType, read: Callable[[str], bytes]) -> bytes:
    """Return the bytes of the file that ``initial_state`` names; none for zeros."""
    if initial.WhichOneof("state_data") != "data_file":
        return b""
    try:
        found = read(initial.data_file)
    except OSError as error:
        raise ModelConfigError(
            f"failed to open text file for read {error.filename}: {error.strerror}",
            stage="create",
            code="INTERNAL",
            advice=f"data_file names a file in the model's folder {FOLDER}.",
        ) from error
    wanted = math.prod(initial.dims) * dtype.byte_size
    if len(found) < wanted:
        # Triton's text has no space after the file's name.
        raise ModelConfigError(
            f"initial_state setting expects {wanted} bytes, but the data provided "
            f"from {initial.data_file}only has {len(found)} bytes.",
            stage="create",
            advice=f"The file in {FOLDER} holds the elements' bytes, one by one.",
        )
    return found


def _texts(data: bytes, shape: list[int]) -> NDArray[Any]:
    array = np.full(math.prod(shape), b"", dtype=object)
    elements = unpack(data)[: array.size]
    array[: len(elements)] = elements
    return array.reshape(shape)


def check_states(config: ModelConfig) -> None:
    """Refuse an invalid initial state with a ModelConfigError at stage ``create``.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, Create and GenerateInitialStateData
    """
    for state in config.message.sequence_batching.state:
        for fault in _faults(state):
            raise ModelConfigError(fault, stage="create")


def _faults(state: Any) -> Iterator[str]:
    name, count = state.input_name, len(state.initial_state)
    if count > 1:
        yield (
            f"initial_state field for state input '{name}' must contain exactly one or "
            f"zero element. Found '{count}' elements."
        )
    for initial in state.initial_state:
        if initial.data_type != state.data_type:
            yield (
                f"The data type used for 'initial_state' field of state '{name}' does "
                "not match the state data type."
            )
        if not initial.name:
            yield (
                "Field 'name' must be set when using initial_state for state input "
                f"'{name}'."
            )
        yield from _dims_faults(name, list(initial.dims), list(state.dims))
        if initial.WhichOneof("state_data") is None:
            yield f"initial_state setting expects state'{name}' to have state_data set"
    if (data_type := data_type_name(state.data_type)) not in BY_DATA_TYPE:
        # On Triton each request would end the model's process.
        yield f"state input '{name}' has the data type {data_type}; set its data_type"


def _dims_faults(name: str, dims: list[int], wanted: list[int]) -> Iterator[str]:
    if len(dims) != len(wanted):
        yield (
            "Number of dimensions in 'initial_state' doesn't match the size of 'state' "
            f"dimensions for state input '{name}'. {len(dims)} != {len(wanted)}"
        )
    for dim, want in zip(dims, wanted, strict=False):
        if dim == -1:
            yield (
                f"'initial_state' field for state input name '{name}' contains "
                "variable dimensions."
            )
        if want not in (-1, dim):
            yield (
                f"'initial_state' dim for input name '{name}' doesn't match 'state' "
                f"dim description. {dim} != {want}"
            )
