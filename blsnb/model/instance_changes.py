"""Which instances stay where only the instance groups of a model have changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from blsnb.model.config import InstanceSpec, ModelConfig

_FIELDS = ("instance_group", "version_policy")
"""What may change while the model serves on."""


class InstanceChanges(NamedTuple):
    """What becomes of the instances of a model.

    Parameters
    ----------
    kept
        The numbers of those that stay, in their new order.
    added
        Those to be made, which come behind them.
    """

    kept: tuple[int, ...]
    added: tuple[InstanceSpec, ...]

    @classmethod
    def between(
        cls, present: Sequence[InstanceSpec], wanted: Sequence[InstanceSpec]
    ) -> InstanceChanges:
        """Return how to get from the instances that there are to those wanted.

        One stays wherever one of its device and of an equal group is wanted, and it
        keeps its name; of several the last stays first.

        References
        ----------
        core: src/backend_model.cc, TritonModel::PrepareInstances
        """
        left: dict[tuple[bytes, int], list[int]] = {}
        for number, spec in enumerate(present):
            left.setdefault((spec.group, spec.device_id), []).append(number)
        kept, added = [], []
        for spec in wanted:
            same = left.get((spec.group, spec.device_id))
            if same:
                kept.append(same.pop())
            else:
                added.append(spec)
        return cls(tuple(kept), tuple(added))


def differ_in_instances_only(one: ModelConfig, other: ModelConfig) -> bool:
    """Whether a model need not be loaded anew to follow a change of configuration.

    References
    ----------
    core: src/model_config_utils.cc, ConfigChangeRequiresReload
    """
    return bool(_without(one) == _without(other))


def with_instances_of(config: ModelConfig, other: ModelConfig) -> ModelConfig:
    """Return a configuration with the instance groups of another one."""
    message = config.message
    del message.instance_group[:]
    message.instance_group.extend(other.instance_groups)
    return ModelConfig.of(message)


def _without(config: ModelConfig) -> object:
    message = config.message
    for field in _FIELDS:
        message.ClearField(field)
    return message
