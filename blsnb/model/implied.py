"""Infer a configuration from the tensors of recorded calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import schema
from blsnb.tensors.dtypes import Shape

VARIES = -1


class SeenTensor(NamedTuple):
    """A recorded tensor, with its whole shape."""

    name: str
    data_type: str
    """Type in a configuration, such as ``"TYPE_FP32"``."""
    shape: Shape


class SeenCall(NamedTuple):
    """The tensors of one call and of all of its responses."""

    inputs: Sequence[SeenTensor]
    outputs: Sequence[SeenTensor]


class Implied(NamedTuple):
    """A configuration inferred from calls, and remarks on its limits."""

    config: ModelConfig
    remarks: tuple[str, ...]

    def text(self) -> str:
        """Return a ``config.pbtxt`` with the remarks as comments."""
        head = "".join(f"# {remark}\n" for remark in self.remarks)
        return head + self.config.to_pbtxt()


def implied_config(config: ModelConfig, calls: Sequence[SeenCall]) -> Implied:
    """Return a configuration that fits all calls.

    An axis with different sizes becomes -1, and an input that a call omitted becomes
    optional. With a ``max_batch_size`` the first axis is the batch. Tensors without a
    call, and all other fields, keep their configuration.

    Parameters
    ----------
    config
        The present configuration.

    Raises
    ------
    ModelConfigError
        The calls have no tensors, or a tensor has several types or ranks.
    """
    message = config.message
    batching = message.max_batch_size > 0
    if not any(call.inputs or call.outputs for call in calls):
        _refuse("the calls of this model have no tensors")
    for field, sides in (
        (message.input, [call.inputs for call in calls]),
        (message.output, [call.outputs for call in calls if call.outputs]),
    ):
        for name in dict.fromkeys(each.name for side in sides for each in side):
            seen = [each for side in sides for each in side if each.name == name]
            _declare(field, name, _type_of(seen), _dims_of(seen, batching))
            some = any(name not in [each.name for each in side] for side in sides)
            if some and field is message.input:
                _declared(field, name).optional = True
    return Implied(ModelConfig.of(message), tuple(_remarks(calls, batching)))


def _declare(field: Any, name: str, data_type: str, dims: Sequence[int]) -> None:
    tensor = _declared(field, name)
    tensor.data_type = schema().DataType.Value(data_type)
    if list(tensor.dims) != list(dims):
        tensor.ClearField("reshape")
        tensor.ClearField("dims")
        tensor.dims.extend(dims)


def _declared(field: Any, name: str) -> Any:
    for tensor in field:
        if tensor.name == name:
            return tensor
    return field.add(name=name)


def _type_of(seen: Sequence[SeenTensor]) -> str:
    types = list(dict.fromkeys(each.data_type for each in seen))
    if len(types) > 1:
        _refuse(f"tensor {seen[0].name!r} had several types: {', '.join(types)}")
    return types[0]


def _dims_of(seen: Sequence[SeenTensor], batching: bool) -> list[int]:
    """Return the dims of a tensor, without the batch axis."""
    name, shapes = seen[0].name, [tuple(each.shape) for each in seen]
    ranks = sorted({len(shape) for shape in shapes})
    if len(ranks) > 1:
        counts = " and ".join(map(str, ranks))
        _refuse(f"tensor {name!r} had {counts} axes; dims have a fixed number")
    if batching and not ranks[0]:
        _refuse(f"tensor {name!r} has no axis, but max_batch_size needs a batch axis")
    axes = list(zip(*shapes, strict=True))[1 if batching else 0 :]
    # A tensor without axes is sent with one axis of size 1.
    return [_dim(sizes) for sizes in axes] or [1]


def _dim(sizes: Iterable[int]) -> int:
    found = set(sizes)
    size = found.pop()
    return VARIES if found or size < 1 else size


def _remarks(calls: Sequence[SeenCall], batching: bool) -> Iterable[str]:
    count = len(calls)
    if count == 1:
        yield "Inferred from one call: write -1 for each axis that may have any size."
    else:
        yield f"Inferred from {count} calls: an axis is -1 if its size differed."
    if not batching and _shares_first_axis(calls):
        yield (
            "All tensors of a call had the same first axis, which differed between "
            "calls: if it is the batch, set max_batch_size and omit it from dims."
        )
    if batching and any(_has_several_batch_sizes(call) for call in calls):
        yield "Inputs of one call had different first axes, which cannot be a batch."


def _shares_first_axis(calls: Sequence[SeenCall]) -> bool:
    firsts: list[set[int]] = []
    for call in calls:
        tensors = (*call.inputs, *call.outputs)
        if not all(each.shape for each in tensors):
            return False
        firsts.append({each.shape[0] for each in tensors})
    return all(len(each) == 1 for each in firsts) and len(set().union(*firsts)) > 1


def _has_several_batch_sizes(call: SeenCall) -> bool:
    return len({each.shape[:1] for each in call.inputs}) > 1


def _refuse(reason: str) -> NoReturn:
    raise ModelConfigError(
        f"no configuration can be inferred: {reason}",
        advice="Write the configuration by hand; the run shows each tensor.",
    )
