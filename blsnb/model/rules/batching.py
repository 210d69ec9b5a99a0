"""Checks of dynamic and sequence batching, with Triton's texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.text.schema import schema

_FALSE_TRUE = ("int32_false_true", "fp32_false_true", "bool_false_true")
_FLAGS = ("CONTROL_SEQUENCE_START", "CONTROL_SEQUENCE_END", "CONTROL_SEQUENCE_READY")
_CORRID = "CONTROL_SEQUENCE_CORRID"
_CORRID_DATA_TYPES = (
    "TYPE_UINT64",
    "TYPE_INT64",
    "TYPE_UINT32",
    "TYPE_INT32",
    "TYPE_STRING",
)


def check_dynamic_batching(message: Any) -> None:
    """Refuse invalid sizes, priorities and queue policies."""
    batcher, model = message.dynamic_batching, message.name
    _check_sizes(
        batcher.preferred_batch_size,
        message.max_batch_size,
        f"dynamic batching preferred size must be positive for {model}",
        f"dynamic batching preferred size must be <= max batch size for {model}",
    )
    _check_priorities(batcher, model)
    if batcher.preserve_ordering:
        _check_ordering(batcher, model)


def check_sequence_batching(message: Any) -> None:
    """Refuse invalid control tensors, sizes and slot utilization."""
    batcher, model = message.sequence_batching, message.name
    for kind in _FLAGS:
        for control in _controls(batcher, kind, model):
            _check_flag(control, kind, model)
    for control in _controls(batcher, _CORRID, model):
        _check_correlation_id(control, model)
    _check_sizes(
        batcher.oldest.preferred_batch_size,
        message.max_batch_size,
        f"sequence batching preferred batch size must be positive for {model}",
        f"sequence batching preferred batch size must be <= max batch size for {model}",
    )
    if not 0.0 <= batcher.direct.minimum_slot_utilization <= 1.0:
        _refuse(
            "sequence batching minimum slot utilization must be in range (0.0, 1.0] "
            f"for {model}"
        )


def _check_sizes(sizes: Iterable[int], largest: int, low: str, high: str) -> None:
    for size in sizes:
        if size <= 0:
            _refuse(low)
        if size > largest:
            _refuse(high)


def _check_priorities(batcher: Any, model: str) -> None:
    levels = batcher.priority_levels
    if levels == 0:
        return
    if not 1 <= batcher.default_priority_level <= levels:
        _refuse(f"default priority level must be in range [1, {levels}] for {model}")
    if not all(1 <= level <= levels for level in batcher.priority_queue_policy):
        _refuse(
            "priority queue policy must have priority level in range "
            f"[1, {levels}] for {model}"
        )


def _check_ordering(batcher: Any, model: str) -> None:
    if batcher.priority_levels > 1:
        _refuse(
            "Only one priority level is allowed when 'preserve_ordering' is true "
            f"for {model}"
        )
    delay = schema().ModelQueuePolicy.DELAY
    policies = batcher.priority_queue_policy
    for policy in (batcher.default_queue_policy, *(policies[key] for key in policies)):
        if policy.default_timeout_microseconds and policy.timeout_action == delay:
            _refuse(
                "Queue policy can not have DELAY as timeout action when "
                f"'preserve_ordering' is true for {model}"
            )


def _controls(batcher: Any, kind: str, model: str) -> Iterator[Any]:
    """Yield the control of a kind, if any, before what follows it is checked."""
    number = schema().ModelSequenceBatching.Control.Kind.Value(kind)
    names: set[str] = set()
    found = False
    for tensor in batcher.control_input:
        if not tensor.name:
            _refuse(f"sequence batching control tensor must have a name for {model}")
        if tensor.name in names:
            _refuse(
                f"sequence batching control tensor '{tensor.name}' is specified for "
                f"multiple control kinds for {model}"
            )
        names.add(tensor.name)
        for control in tensor.control:
            if control.kind != number:
                continue
            if found:
                _refuse(
                    f"sequence batching specifies multiple {kind} tensors for {model}"
                )
            found = True
            yield control


def _check_flag(control: Any, kind: str, model: str) -> None:
    given = [name for name in _FALSE_TRUE if getattr(control, name)]
    if not given:
        _refuse(
            "sequence batching must specify either 'int32_false_true', "
            f"'fp32_false_true' or 'bool_false_true' for {kind} for {model}"
        )
    if len(given) > 1:
        _refuse(
            "sequence batching specifies more than one from 'int32_false_true', "
            f"'fp32_false_true' and 'bool_false_true' for {kind} for {model}"
        )
    if len(getattr(control, given[0])) != 2:
        _refuse(
            f"sequence batching control '{given[0]}' must have exactly 2 entries "
            f"for {kind} for {model}"
        )


def _check_correlation_id(control: Any, model: str) -> None:
    if any(getattr(control, name) for name in _FALSE_TRUE):
        _refuse(
            "sequence batching must not specify either 'int32_false_true', "
            f"'fp32_false_true' or 'bool_false_true' for {_CORRID} for {model}"
        )
    types = schema().DataType
    if control.data_type not in map(types.Value, _CORRID_DATA_TYPES):
        *most, last = _CORRID_DATA_TYPES
        _refuse(
            f"unexpected data type for control {_CORRID} for {model}. Allowed data "
            f"types are {', '.join(most)} and {last}"
        )


def _refuse(reason: str) -> NoReturn:
    raise ModelConfigError(reason, stage="poll")
