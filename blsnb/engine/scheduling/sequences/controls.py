"""Control tensors: extra inputs that describe a request's sequence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blsnb.engine.scheduling.sequences.rules import SequenceId
from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import data_type_name, schema
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START
from blsnb.tensors.dtypes import BY_DATA_TYPE

_CORRID = "CONTROL_SEQUENCE_CORRID"
_ORDER = (
    "CONTROL_SEQUENCE_START",
    "CONTROL_SEQUENCE_END",
    "CONTROL_SEQUENCE_READY",
    _CORRID,
)
_FALSE_TRUE = {
    "int32_false_true": np.dtype(np.int32),
    "fp32_false_true": np.dtype(np.float32),
    "bool_false_true": np.dtype(np.bool_),
}


class _Flag(NamedTuple):
    """A boolean control: name and kind, with its values for false and true."""

    name: str
    kind: str
    values: NDArray[Any]


class Controls:
    """Makes the control tensors of requests from ``control_input``.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, CreateBooleanControlTensors,
    SequenceBatch::SetControlTensors
    """

    def __init__(self, config: ModelConfig) -> None:
        self._shape = (1, 1) if config.max_batch_size else (1,)
        self._flags: list[_Flag] = []
        self._corrid: tuple[str, str] | None = None
        for name, kind, control in _controls(config):
            if kind == _CORRID:
                self._corrid = (name, data_type_name(control.data_type))
            else:
                self._flags.append(_Flag(name, kind, _values(control)))

    def of(
        self, flags: int, correlation_id: SequenceId, ready: bool
    ) -> dict[str, NDArray[Any]]:
        """Return a request's control tensors by name.

        Parameters
        ----------
        ready
            False for a null request, which has no flags and no correlation id.
        """
        states = {
            "CONTROL_SEQUENCE_START": ready and bool(flags & SEQUENCE_START),
            "CONTROL_SEQUENCE_END": ready and bool(flags & SEQUENCE_END),
            "CONTROL_SEQUENCE_READY": ready,
        }
        tensors = {
            flag.name: flag.values[[int(states[flag.kind])]].reshape(self._shape)
            for flag in self._flags
        }
        if self._corrid is not None:
            name, data_type = self._corrid
            value = _corrid(correlation_id if ready else 0, data_type)
            tensors[name] = value.reshape(self._shape)
        return tensors


def _controls(config: ModelConfig) -> Iterator[tuple[str, str, Any]]:
    """Yield names, kinds and controls, in the order in which Triton makes them."""
    batching = config.message.sequence_batching
    kinds = schema().ModelSequenceBatching.Control.Kind
    found = [
        (tensor.name, kinds.Name(control.kind), control)
        for tensor in batching.control_input
        for control in tensor.control
    ]
    yield from sorted(found, key=lambda each: _ORDER.index(each[1]))


def _values(control: Any) -> NDArray[Any]:
    # A control without values is refused with the configuration.
    field = next(field for field in _FALSE_TRUE if getattr(control, field))
    return np.array(list(getattr(control, field)), _FALSE_TRUE[field])


def _corrid(correlation_id: SequenceId, data_type: str) -> NDArray[Any]:
    """Return the id as a tensor of one element.

    A string in an integer tensor is what Triton's memory holds: its length in four
    bytes and its first bytes. A number that is too large loses its upper bytes.
    """
    if data_type == "TYPE_STRING":
        text = str(correlation_id) if correlation_id else ""
        return np.array([text.encode()], dtype=object)
    dtype = BY_DATA_TYPE[data_type].dtype
    assert dtype is not None
    number = correlation_id
    if isinstance(number, str):
        text_bytes = number.encode()
        memory = len(text_bytes).to_bytes(4, "little") + text_bytes[:4]
        number = int.from_bytes(memory, "little")
    return np.array([number], np.uint64).astype(dtype)
