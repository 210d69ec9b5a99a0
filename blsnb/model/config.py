"""The configuration of a model: NVIDIA's message behind a frozen view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from blsnb.errors import ModelConfigError
from blsnb.model.rules.instances import check_count
from blsnb.model.text import json_form
from blsnb.model.text import text_format as text
from blsnb.model.text.schema import data_type_name, new_message, schema
from blsnb.model.text.text_hints import hint
from blsnb.pb_utils.compiled.releases import NEWEST, Release, has
from blsnb.tensors.dtypes import BY_DATA_TYPE, Shape


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One declared input or output.

    Parameters
    ----------
    data_type
        As the configuration spells it: ``"TYPE_FP32"``.
    datatype
        As the wire spells it: ``"FP32"``; ``""`` where Triton has no such type.
    dims
        Without the batch dimension; -1 where it varies.
    reshape
        The shape that the model sees, where it differs.
    """

    name: str
    data_type: str
    datatype: str
    dims: Shape
    reshape: Shape | None = None
    optional: bool = False
    allow_ragged_batch: bool = False


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """One instance to run: its name, ``CPU``, ``GPU`` or ``MODEL``, its device.

    Parameters
    ----------
    group
        What else its instance group says of it.
    """

    name: str
    kind: str
    device_id: int
    group: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True)
class ModelConfig:
    """A model configuration that nobody can change.

    Parameters
    ----------
    wire
        The message ``inference.ModelConfig``, serialised.
    """

    wire: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, message: Any) -> ModelConfig:
        """Freeze a protobuf message."""
        return cls(message.SerializeToString(deterministic=True))

    @property
    def message(self) -> Any:
        """A protobuf message of one's own to read or edit."""
        return schema().ModelConfig.FromString(self.wire)

    def __repr__(self) -> str:
        counts = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"<ModelConfig {self.name or '(no name)'}: {counts}>"

    @cached_property
    def _message(self) -> Any:
        return self.message

    @property
    def name(self) -> str:
        """The model's name; ``""`` where the text leaves it out."""
        return str(self._message.name)

    @property
    def backend(self) -> str:
        """The backend, ``"python"`` once it is deduced."""
        return str(self._message.backend)

    @property
    def default_model_filename(self) -> str:
        """The entry file of a version."""
        return str(self._message.default_model_filename)

    @cached_property
    def max_batch_size(self) -> int:
        """The largest batch; 0 for a model that does not batch."""
        return int(self._message.max_batch_size)

    @cached_property
    def decoupled(self) -> bool:
        """Whether a request may have any number of responses."""
        return bool(self._message.model_transaction_policy.decoupled)

    @cached_property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The declared inputs, in order."""
        return tuple(map(_tensor_spec, self._message.input))

    @cached_property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The declared outputs, in order."""
        return tuple(map(_tensor_spec, self._message.output))

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The parameters by name, sorted."""
        rows = self._message.parameters
        return {name: str(rows[name].string_value) for name in sorted(rows)}

    @property
    def scheduling(self) -> str:
        """The configured scheduler, or ``""`` for the default one."""
        return self._message.WhichOneof("scheduling_choice") or ""

    @property
    def is_ensemble(self) -> bool:
        """Whether its requests are answered by other models."""
        return self.scheduling == "ensemble_scheduling"

    @property
    def iterative(self) -> bool:
        """Whether a request may come back to the model until it is answered."""
        return bool(self._message.sequence_batching.iterative_sequence)

    @cached_property
    def instance_groups(self) -> tuple[Any, ...]:
        """The ``instance_group`` messages, in order."""
        return tuple(self.message.instance_group)

    @property
    def version_policy(self) -> Any:
        """The ``version_policy`` message; empty where none is configured."""
        return self.message.version_policy

    def instance_names(self) -> list[InstanceSpec]:
        """Return the instances that a normalised configuration asks for.

        A GPU group has one instance per device and count; Triton gives those of
        one count the same name.

        Raises
        ------
        ModelConfigError
            They are too many.
        """
        check_count(self._message)
        return [
            InstanceSpec(f"{group.name}_{number}", _kind(group), device, said)
            for group in self.instance_groups
            for said in [_unnamed(group)]
            for number in range(group.count)
            for device in _devices(group)
        ]

    def to_pbtxt(self) -> str:
        """Return the text of a ``config.pbtxt`` that says the same."""
        return text.print_message(self._message)

    def to_json(self, release: Release = NEWEST) -> str:
        """Return the JSON text that ``initialize(args)`` receives."""
        return json_form.written(self.to_dict(release))

    def to_dict(self, release: Release = NEWEST) -> dict[str, Any]:
        """Return the JSON form as a dict of the caller's own.

        Parameters
        ----------
        release
            Whose fields are there.
        """
        tree = json_form.to_dict(self._message)
        feature = "max_inflight_requests"
        if not has(feature, release):
            tree.get("ensemble_scheduling", {}).pop(feature, None)
        return tree


def parse_pbtxt(source: str, *, path: str = "config.pbtxt") -> ModelConfig:
    """Parse the text of a ``config.pbtxt``.

    Parameters
    ----------
    path
        The file's name, as the message shows it.

    Raises
    ------
    ModelConfigError
        At stage ``poll``; the advice has the line, the column and the reason.
    """
    message = new_message()
    try:
        text.parse(source, message)
    except text.TextFormatError as error:
        place = f"Error parsing text-format inference.ModelConfig: {error}"
        advice = (place, error.excerpt, hint(error.message))
        raise ModelConfigError(
            f"failed to read text proto from {path}",
            stage="poll",
            code="INTERNAL",
            advice="\n".join(filter(None, advice)),
        ) from error
    return ModelConfig.of(message)


def parse_json(document: str | Mapping[str, Any]) -> ModelConfig:
    """Read the JSON form, as the ``config`` parameter of a load call has it.

    Raises
    ------
    ModelConfigError
        At stage ``poll``: the document is no configuration.
    """
    message = new_message()
    try:
        json_form.read(document, message)
    except json_form.JsonFormError as error:
        raise ModelConfigError(
            f"Invalid config override: {error}",
            advice="Write it as %triton config prints one: the names and types of "
            "config.pbtxt, as JSON.",
        ) from error
    return ModelConfig.of(message)


def _tensor_spec(tensor: Any) -> TensorSpec:
    data_type = data_type_name(tensor.data_type)
    row = BY_DATA_TYPE.get(data_type)
    return TensorSpec(
        name=tensor.name,
        data_type=data_type,
        datatype="" if row is None else row.datatype,
        dims=tuple(tensor.dims),
        reshape=tuple(tensor.reshape.shape) if tensor.HasField("reshape") else None,
        optional=getattr(tensor, "optional", False),
        allow_ragged_batch=getattr(tensor, "allow_ragged_batch", False),
    )


def _unnamed(group: Any) -> bytes:
    """Return what a group says besides its name and how many instances it has."""
    said = schema().ModelInstanceGroup()
    said.CopyFrom(group)
    said.ClearField("name")
    said.ClearField("count")
    return bytes(said.SerializeToString(deterministic=True))


def _kind(group: Any) -> str:
    kinds = schema().ModelInstanceGroup.Kind
    return str(kinds.Name(group.kind)).removeprefix("KIND_")


def _devices(group: Any) -> list[int]:
    on_gpu = group.kind == schema().ModelInstanceGroup.KIND_GPU
    return list(group.gpus) if on_gpu else [0]
