"""The configuration that the tensors of calls imply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import schema
from blsnb.tensors.dtypes import Shape

VARIES = -1


class SeenTensor(NamedTuple):
    """A tensor as it was sent: its name, type (``"FP32"``) and whole shape."""

    name: str
    data_type: str
    """As a configuration spells it: ``"TYPE_FP32"``."""
    shape: Shape


class SeenCall(NamedTuple):
    """The tensors of one call; of an answer in parts, those of all of them."""

    inputs: Sequence[SeenTensor]
    outputs: Sequence[SeenTensor]


class Implied(NamedTuple):
    """A configuration, and what its reader must know of it."""

    config: ModelConfig
    remarks: tuple[str, ...]

    def text(self) -> str:
        """Return a ``config.pbtxt`` that begins with the remarks."""
        head = "".join(f"# {remark}\n" for remark in self.remarks)
        return head + self.config.to_pbtxt()


def implied_config(config: ModelConfig, calls: Sequence[SeenCall]) -> Implied:
    """Return a configuration that fits what was seen.

    An axis whose size differed is -1, an input that was left out is optional. With a
    ``max_batch_size`` the first axis is the batch. What was not seen, and all that is
    no tensor, is kept as it is.

    Parameters
    ----------
    config
        What is configured so far.

    Raises
    ------
    ModelConfigError
        No configuration fits: a tensor had several types or numbers of axes, or no
        tensor was seen.
    """
    message = config.message
    batching = message.max_batch_size > 0
    if not any(call.inputs or call.outputs for call in calls):
        _refuse("no tensor was seen in the calls of this model")
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
        _refuse(f"tensor {seen[0].name!r} was of several types: {', '.join(types)}")
    return types[0]


def _dims_of(seen: Sequence[SeenTensor], batching: bool) -> list[int]:
    """Return the dims of a tensor, without the batch."""
    name, shapes = seen[0].name, [tuple(each.shape) for each in seen]
    ranks = sorted({len(shape) for shape in shapes})
    if len(ranks) > 1:
        counts = " and ".join(map(str, ranks))
        _refuse(f"tensor {name!r} had {counts} axes; dims have one number of them")
    if batching and not ranks[0]:
        _refuse(f"tensor {name!r} has no axis, and max_batch_size wants a batch")
    axes = list(zip(*shapes, strict=True))[1 if batching else 0 :]
    # A tensor without axes is sent with one of size 1; one of size 0 is no dimension.
    return [_dim(sizes) for sizes in axes] or [1]


def _dim(sizes: Iterable[int]) -> int:
    found = set(sizes)
    size = found.pop()
    return VARIES if found or size < 1 else size


def _remarks(calls: Sequence[SeenCall], batching: bool) -> Iterable[str]:
    count = len(calls)
    if count == 1:
        yield "Of one call: an axis that may have any size must be made -1 by hand."
    else:
        yield f"Of {count} calls: an axis is -1 where its size differed."
    if not batching and _shares_first_axis(calls):
        yield (
            "The first axis of all tensors was the same in each call, and differed "
            "between calls: if it is the batch, set max_batch_size and leave it out."
        )
    if batching and any(_batches(call) for call in calls):
        yield "The first axes of a call's inputs differed: that is no batch."


def _shares_first_axis(calls: Sequence[SeenCall]) -> bool:
    firsts: list[set[int]] = []
    for call in calls:
        tensors = (*call.inputs, *call.outputs)
        if not all(each.shape for each in tensors):
            return False
        firsts.append({each.shape[0] for each in tensors})
    return all(len(each) == 1 for each in firsts) and len(set().union(*firsts)) > 1


def _batches(call: SeenCall) -> bool:
    """Whether the inputs of a call were of several batch sizes."""
    return len({each.shape[:1] for each in call.inputs}) > 1


def _refuse(reason: str) -> NoReturn:
    raise ModelConfigError(
        f"no configuration is implied: {reason}",
        advice="Look at the run, and write the configuration by hand.",
    )
