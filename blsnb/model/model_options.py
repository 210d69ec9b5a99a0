"""Options of ``%%triton_model``, merged into a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, TensorSpec
from blsnb.model.tensor_spec import format_tensor_spec, parse_tensor_spec
from blsnb.model.text.schema import schema

_KINDS = ("cpu", "gpu", "model", "auto")
_MAX_INT32, _MAX_UINT64 = 2**31 - 1, 2**64 - 1
"""Maximum of fields of the configuration with these types."""


class ModelOptions(NamedTuple):
    """Fields of a configuration that options can set.

    Parameters
    ----------
    inputs, outputs
        Tensor specifications, parsed or as text.
    kind
        ``"cpu"``, ``"gpu"``, ``"model"`` or ``"auto"``.
    dynamic_batching
        True, or the queue delay in microseconds; None or False to leave it unset.
    """

    inputs: Sequence[str | TensorSpec] = ()
    outputs: Sequence[str | TensorSpec] = ()
    max_batch_size: int | None = None
    instances: int | None = None
    kind: str | None = None
    dynamic_batching: bool | int | None = None
    decoupled: bool = False


def merge_options(config: ModelConfig, options: ModelOptions) -> ModelConfig:
    """Return a configuration with the options filled in.

    Raises
    ------
    ModelConfigError
        An option is invalid, or contradicts the configuration; the text shows both.
    """
    message = config.message
    _merge_tensors("input", config.inputs, options.inputs, message.input)
    _merge_tensors("output", config.outputs, options.outputs, message.output)
    _merge_max_batch_size(message, options.max_batch_size)
    _merge_instances(message, options)
    _merge_dynamic_batching(message, config.scheduling, options.dynamic_batching)
    if options.decoupled:
        policy = message.model_transaction_policy
        if message.HasField("model_transaction_policy") and not policy.decoupled:
            _contradict("--decoupled", "model_transaction_policy { decoupled: false }")
        policy.decoupled = True
    return ModelConfig.of(message)


def _merge_tensors(
    direction: str,
    declared: Sequence[TensorSpec],
    specs: Sequence[str | TensorSpec],
    target: Any,
) -> None:
    known = {tensor.name: tensor for tensor in declared}
    for spec in specs:
        tensor = parse_tensor_spec(spec) if isinstance(spec, str) else spec
        text = format_tensor_spec(tensor)
        if tensor.optional and direction == "output":
            _refuse(f"--output {text}: only an input can be optional")
        if not declared:
            _declare(tensor, target)
        elif tensor.name not in known:
            _contradict(f"--{direction} {text}", f"only {', '.join(known)}")
        elif format_tensor_spec(known[tensor.name]) != text:
            _contradict(f"--{direction} {text}", format_tensor_spec(known[tensor.name]))


def _declare(tensor: TensorSpec, target: Any) -> None:
    if any(row.name == tensor.name for row in target):
        _refuse(f"tensor {tensor.name!r} is specified twice")
    row = target.add(name=tensor.name, dims=tensor.dims)
    row.data_type = schema().DataType.Value(tensor.data_type)
    if tensor.optional:
        row.optional = True


def _merge_max_batch_size(message: Any, size: int | None) -> None:
    if size is None:
        return
    if not 0 <= size <= _MAX_INT32:
        _refuse(
            f"--max-batch-size {size} is not valid; expected 0 (no batching) to "
            f"{_MAX_INT32:,}"
        )
    if message.max_batch_size not in (0, size):
        _contradict(
            f"--max-batch-size {size}", f"max_batch_size: {message.max_batch_size}"
        )
    message.max_batch_size = size


def _merge_instances(message: Any, options: ModelOptions) -> None:
    count, kind = options.instances, options.kind
    if count is None and kind is None:
        return
    if count is not None and not 1 <= count <= _MAX_INT32:
        _refuse(f"--instances {count} is not valid; expected 1 to {_MAX_INT32:,}")
    if kind is not None and kind.lower() not in _KINDS:
        _refuse(f"--kind {kind} is not valid; expected one of {', '.join(_KINDS)}")
    wanted = schema().ModelInstanceGroup(count=count or 1)
    wanted.kind = f"KIND_{(kind or 'auto').upper()}"
    if not message.instance_group:
        message.instance_group.append(wanted)
        return
    configured = [(max(group.count, 1), group.kind) for group in message.instance_group]
    for option, index, value in (
        (f"--instances {count}", 0, None if count is None else wanted.count),
        (f"--kind {kind}", 1, None if kind is None else wanted.kind),
    ):
        if value is not None and [value] != [row[index] for row in configured]:
            _contradict(option, _groups_text(message.instance_group))


def _groups_text(groups: Any) -> str:
    kinds = schema().ModelInstanceGroup.Kind
    rows = (f"{{count: {g.count} kind: {kinds.Name(g.kind)}}}" for g in groups)
    return f"instance_group [{', '.join(rows)}]"


def _merge_dynamic_batching(
    message: Any, scheduling: str, wanted: bool | int | None
) -> None:
    if wanted is None or wanted is False:
        return
    delay_us = 0 if wanted is True else wanted
    option = f"--dynamic-batching {'' if wanted is True else delay_us}".rstrip()
    if not 0 <= delay_us <= _MAX_UINT64:
        _refuse(f"{option} is not valid; expected 0 to {_MAX_UINT64:,} microseconds")
    if scheduling not in ("", "dynamic_batching"):
        _contradict(option, f"{scheduling} {{ … }}")
    configured = message.dynamic_batching.max_queue_delay_microseconds
    if scheduling and wanted is not True and configured != delay_us:
        _contradict(option, f"max_queue_delay_microseconds: {configured}")
    message.dynamic_batching.SetInParent()
    if wanted is not True:
        message.dynamic_batching.max_queue_delay_microseconds = delay_us


def _contradict(option: str, configured: str) -> NoReturn:
    raise ModelConfigError(
        f"the option {option} contradicts the configuration, which has {configured}",
        advice="Change one of them, or omit the option.",
    )


def _refuse(reason: str) -> NoReturn:
    raise ModelConfigError(reason)
