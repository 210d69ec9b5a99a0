"""Changes of a configuration without a reload: instances to keep and to add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from blsnb.model.config import InstanceSpec, ModelConfig

_CHANGEABLE = ("instance_group", "version_policy")
"""Fields that may change without a reload."""


class InstanceChanges(NamedTuple):
    """How a model's instances change.

    Parameters
    ----------
    kept
        Indices of the instances to keep, in their new order.
    added
        Instances to create, which follow them.
    """

    kept: tuple[int, ...]
    added: tuple[InstanceSpec, ...]

    @classmethod
    def between(
        cls, present: Sequence[InstanceSpec], wanted: Sequence[InstanceSpec]
    ) -> InstanceChanges:
        """Return the changes from the present to the wanted instances.

        An instance is kept, with its name, for a wanted one with the same device and
        an equal group; of several equal instances the last is kept first.

        References
        ----------
        core: src/backend_model.cc, TritonModel::PrepareInstances
        """
        available: dict[tuple[bytes, int], list[int]] = {}
        for number, spec in enumerate(present):
            available.setdefault((spec.group, spec.device_id), []).append(number)
        kept, added = [], []
        for spec in wanted:
            same = available.get((spec.group, spec.device_id))
            if same:
                kept.append(same.pop())
            else:
                added.append(spec)
        return cls(tuple(kept), tuple(added))


def needs_no_reload(one: ModelConfig, other: ModelConfig) -> bool:
    """Whether a model with one configuration can change to the other as it is.

    References
    ----------
    core: src/model_config_utils.cc, ConfigChangeRequiresReload
    """
    return bool(_unchangeable(one) == _unchangeable(other))


def with_instances_of(config: ModelConfig, other: ModelConfig) -> ModelConfig:
    """Return a configuration with the instance groups of another one."""
    message = config.message
    del message.instance_group[:]
    message.instance_group.extend(other.instance_groups)
    return ModelConfig.of(message)


def _unchangeable(config: ModelConfig) -> object:
    message = config.message
    for field in _CHANGEABLE:
        message.ClearField(field)
    return message
