"""Settings that Triton accepts and their author probably did not mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import data_type_name, schema

_TEXT = "TYPE_STRING"


class LintFinding(NamedTuple):
    """A setting that its author probably did not mean.

    Parameters
    ----------
    text
        One sentence.
    field
        Its field, as in `field_lines`: ``"input[0].dims"``.
    """

    text: str
    field: str


def lint(config: ModelConfig, *, gpu_count: int = 0) -> list[LintFinding]:
    """Return the findings in a configuration, with their fields."""
    return [
        *_batch_in_dims(config),
        *_batching_alone(config),
        *_without_gpu(config, gpu_count),
        *_named_twice(config),
        *_empty_values(config),
        *_text_correlation_ids(config),
    ]


def findings(config: ModelConfig, *, gpu_count: int = 0) -> list[str]:
    """Return the findings in a configuration, one sentence each."""
    return [each.text for each in lint(config, gpu_count=gpu_count)]


def _batch_in_dims(config: ModelConfig) -> Iterator[LintFinding]:
    """Yield a finding if the dims of every tensor seem to contain the batch.

    A single -1 may be a number of tokens, and two may be the sides of an image. A
    first axis counts only if it is -1 before fixed sizes, or equals the batch size.
    """
    size = config.max_batch_size
    tensors = (*config.inputs, *config.outputs)
    if size < 1 or not tensors or not all(len(each.dims) > 1 for each in tensors):
        return
    fixed = all(dim > 0 for each in tensors for dim in each.dims[1:])
    first = {each.dims[0] for each in tensors}
    if first == {size} or (first == {-1} and fixed):
        example = tensors[0]
        text = (
            f"max_batch_size is {size} and dims of every tensor begin with "
            f"{first.pop()}: if that is the batch, omit it from dims (for "
            f"{example.name!r} write {_dims(example.dims[1:])}), because Triton adds "
            "it itself"
        )
        direction = "input" if config.inputs else "output"
        yield LintFinding(text, f"{direction}[0].dims")


def _batching_alone(config: ModelConfig) -> Iterator[LintFinding]:
    if config.scheduling == "dynamic_batching" and config.max_batch_size == 0:
        text = (
            "dynamic_batching has no effect while max_batch_size is 0: every request "
            "is executed alone"
        )
        yield LintFinding(text, "dynamic_batching")


def _without_gpu(config: ModelConfig, gpu_count: int) -> Iterator[LintFinding]:
    kinds = schema().ModelInstanceGroup
    wanted = [
        number
        for number, group in enumerate(config.instance_groups)
        if group.kind == kinds.KIND_GPU
    ]
    if wanted and gpu_count == 0:
        text = (
            "KIND_GPU needs a GPU, and this machine has none: with KIND_AUTO, or "
            "without kind, a GPU is used if there is one, else the CPU"
        )
        yield LintFinding(text, f"instance_group[{wanted[0]}].kind")


def _named_twice(config: ModelConfig) -> Iterator[LintFinding]:
    for direction, tensors in (("input", config.inputs), ("output", config.outputs)):
        names = [each.name for each in tensors]
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                text = f"the {direction} {name!r} is declared {names.count(name)} times"
                second = names.index(name, names.index(name) + 1)
                yield LintFinding(text, f"{direction}[{second}].name")


def _empty_values(config: ModelConfig) -> Iterator[LintFinding]:
    """Yield parameters without a ``string_value``."""
    message: Any = config.message
    for name in sorted(message.parameters):
        if not message.parameters[name].string_value:
            text = f"the parameter {name!r} has no string_value, so its text is empty"
            yield LintFinding(text, f"parameters[{name!r}]")


def _text_correlation_ids(config: ModelConfig) -> Iterator[LintFinding]:
    """Yield a finding for a control tensor of texts, which Triton fills wrongly."""
    corrid = schema().ModelSequenceBatching.Control.CONTROL_SEQUENCE_CORRID
    controls = (
        (row, place, tensor.name, control)
        for row, tensor in enumerate(config.message.sequence_batching.control_input)
        for place, control in enumerate(tensor.control)
    )
    for row, place, name, control in controls:
        if control.kind == corrid and data_type_name(control.data_type) == _TEXT:
            text = (
                f"the control {name!r} has TYPE_STRING: Triton 24.10 refuses every "
                "request of such a model, unless its correlation id has exactly 128 "
                "characters; request.correlation_id() has the text there, too"
            )
            field = f"sequence_batching[0].control_input[{row}].control[{place}]"
            yield LintFinding(text, field)


def advised(config: ModelConfig, *, gpu_count: int = 0) -> str:
    """Return the findings as advice, one in each line."""
    found = findings(config, gpu_count=gpu_count)
    return "\n".join(f"{each[0].upper()}{each[1:]}." for each in found)


def _dims(dims: tuple[int, ...]) -> str:
    return f"dims: [ {', '.join(map(str, dims))} ]"
