"""Model configurations: NVIDIA's protobuf message behind a frozen view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from blsnb.errors import ModelConfigError
from blsnb.model.rules.instances import check_count
from blsnb.model.text import json_form
from blsnb.model.text import text_format as text
from blsnb.model.text.schema import data_type_name, new_message, schema
from blsnb.pb_utils.compiled.json_text import text_of
from blsnb.pb_utils.compiled.releases import NEWEST, Release, has
from blsnb.printable import counted, printable
from blsnb.tensors.dtypes import BY_DATA_TYPE, Shape


class TensorSpec(NamedTuple):
    """One declared input or output.

    Parameters
    ----------
    data_type
        Type in a configuration, such as ``"TYPE_FP32"``.
    datatype
        Type in a request, such as ``"FP32"``; empty for an unknown type.
    dims
        Shape without the batch dimension; -1 is any size.
    reshape
        Shape that the model receives; None if it equals `dims`.
    """

    name: str
    data_type: str
    datatype: str
    dims: Shape
    reshape: Shape | None = None
    optional: bool = False
    allow_ragged_batch: bool = False


class InstanceSpec(NamedTuple):
    """One instance to run.

    Parameters
    ----------
    kind
        ``"CPU"``, ``"GPU"`` or ``"MODEL"``.
    group
        Its instance group without name and count, serialised.
    """

    name: str
    kind: str
    device_id: int
    group: bytes = b""


@dataclass(frozen=True, repr=False)
class ModelConfig:
    """An immutable model configuration.

    Parameters
    ----------
    wire
        A serialised ``inference.ModelConfig``.
    """

    wire: bytes = b""

    @classmethod
    def of(cls, message: Any) -> ModelConfig:
        """Return the configuration in a protobuf message."""
        return cls(message.SerializeToString(deterministic=True))

    @property
    def message(self) -> Any:
        """A new protobuf message, which the caller may edit."""
        return schema().ModelConfig.FromString(self.wire)

    def __repr__(self) -> str:
        inputs, outputs = len(self.inputs), len(self.outputs)
        counts = f"{counted(inputs, 'input')}, {counted(outputs, 'output')}"
        return f"<ModelConfig {printable(self.name) or '(no name)'}: {counts}>"

    @cached_property
    def _message(self) -> Any:
        return self.message

    @property
    def name(self) -> str:
        """The model's name; empty if the text omits it."""
        return str(self._message.name)

    @property
    def backend(self) -> str:
        """The backend; normalisation fills it in."""
        return str(self._message.backend)

    @property
    def default_model_filename(self) -> str:
        """The model file in a version's folder."""
        return str(self._message.default_model_filename)

    @cached_property
    def max_batch_size(self) -> int:
        """Maximum batch size; 0 for a model without a batch dimension."""
        return int(self._message.max_batch_size)

    @cached_property
    def decoupled(self) -> bool:
        """Whether a request may have any number of responses."""
        return bool(self._message.model_transaction_policy.decoupled)

    @cached_property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The declared inputs, in order."""
        return tuple(map(_tensor_spec, self._message.input))

    @property
    def scheduler_inputs(self) -> list[str]:
        """Names of the inputs that a sequence batcher adds: controls and states."""
        batching = self._message.sequence_batching
        controls = [control.name for control in batching.control_input]
        return controls + [state.input_name for state in batching.state]

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
        """The configured scheduler; empty for the default one."""
        return self._message.WhichOneof("scheduling_choice") or ""

    @property
    def is_ensemble(self) -> bool:
        """Whether it is an ensemble of other models."""
        return self.scheduling == "ensemble_scheduling"

    @property
    def iterative(self) -> bool:
        """Whether requests of a sequence may be rescheduled."""
        return bool(self._message.sequence_batching.iterative_sequence)

    @cached_property
    def instance_groups(self) -> tuple[Any, ...]:
        """The ``instance_group`` messages, in order."""
        return tuple(self.message.instance_group)

    @property
    def version_policy(self) -> Any:
        """The ``version_policy`` message; empty if it is not configured."""
        return self.message.version_policy

    def instance_names(self) -> list[InstanceSpec]:
        """Return the instances of a normalised configuration.

        A GPU group has ``count`` instances for each device; as on Triton, instances
        with the same number share a name. A passive group, whose instances receive no
        requests, has none.
        """
        check_count(self._message)
        return [
            InstanceSpec(f"{group.name}_{number}", _kind(group), device, settings)
            for group in self.instance_groups
            if not group.passive
            for settings in [_settings(group)]
            for number in range(group.count)
            for device in _devices(group)
        ]

    def to_pbtxt(self) -> str:
        """Return the text of an equal ``config.pbtxt``."""
        return text.print_message(self._message)

    def to_json(self) -> str:
        """Return the JSON text that ``initialize(args)`` receives."""
        return text_of(self.to_dict())

    def to_dict(self, release: Release = NEWEST) -> dict[str, Any]:
        """Return the JSON form as a new dict, with the fields of a release."""
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
        The file's path in the error text.

    Raises
    ------
    ModelConfigError
        At stage ``poll``; the advice contains line, column and reason.
    """
    try:
        return _parsed(source)
    except text.TextFormatError as error:
        from blsnb.model.text.text_hints import hint, placeholders

        reason = f"Error parsing text-format inference.ModelConfig: {error}"
        advice = (reason, error.excerpt, hint(error.message), placeholders(source))
        raise ModelConfigError(
            f"failed to read text proto from {path}",
            stage="poll",
            code="INTERNAL",
            advice="\n".join(filter(None, advice)),
        ) from error


@lru_cache(maxsize=256)
def _parsed(source: str) -> ModelConfig:
    # A load reads the same text several times: to poll, to find ensembles, to check.
    message = new_message()
    text.parse(source, message)
    return ModelConfig.of(message)


def parse_json(document: str | Mapping[str, Any]) -> ModelConfig:
    """Parse the JSON form, as in the ``config`` parameter of a load request.

    Raises
    ------
    ModelConfigError
        At stage ``poll``: the document is not a configuration.
    """
    message = new_message()
    try:
        json_form.read(document, message)
    except json_form.JsonFormError as error:
        raise ModelConfigError(
            f"Invalid config override: {error}",
            advice="Write the fields of config.pbtxt as JSON, in the form that %triton "
            "config prints.",
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


def _settings(group: Any) -> bytes:
    """Return an instance group without name and count, serialised."""
    settings = schema().ModelInstanceGroup()
    settings.CopyFrom(group)
    settings.ClearField("name")
    settings.ClearField("count")
    return bytes(settings.SerializeToString(deterministic=True))


def _kind(group: Any) -> str:
    kinds = schema().ModelInstanceGroup.Kind
    return str(kinds.Name(group.kind)).removeprefix("KIND_")


def _devices(group: Any) -> list[int]:
    on_gpu = group.kind == schema().ModelInstanceGroup.KIND_GPU
    return list(group.gpus) if on_gpu else [0]
