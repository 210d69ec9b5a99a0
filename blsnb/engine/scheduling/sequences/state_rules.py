"""What Triton demands of the initial states of a sequence, in its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig


def check_states(config: ModelConfig) -> None:
    """Refuse what cannot be an initial state.

    Raises
    ------
    ModelConfigError
        At stage ``create``: the first fault of the first state that has one.

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
