"""The configurations that a plan compares: instances, delays and batch sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from blsnb.model.config import ModelConfig

MAX_OPTIONS = 2_000


class Setting(NamedTuple):
    """Settings of a model; None leaves what its configuration has.

    Parameters
    ----------
    instances
        Number of instances, on each of its GPUs as the ``count`` of a group.
    delay_us
        Maximum time that a request waits for others of its batch.
    batch
        Maximum size of a batch.
    """

    instances: int | None = None
    delay_us: int | None = None
    batch: int | None = None

    def applied(
        self, config: ModelConfig, served: ModelConfig | None = None
    ) -> ModelConfig:
        """Return a configuration with these settings.

        Parameters
        ----------
        config
            Completed, or as its author wrote it.
        served
            Its completed form; ``config`` itself if None.
        """
        message = config.message
        if self.instances is not None:
            for group in message.instance_group[1:]:
                message.instance_group.remove(group)
            if not message.instance_group:
                known = (served or config).message.instance_group
                message.instance_group.add(kind=known[0].kind if known else 0)
            message.instance_group[0].count = self.instances
        if self.delay_us is not None or self.batch is not None:
            batching = _batching(message)
            if self.delay_us is not None:
                batching.max_queue_delay_microseconds = self.delay_us
            if self.batch is not None:
                message.max_batch_size = self.batch
                if hasattr(batching, "preferred_batch_size"):
                    del batching.preferred_batch_size[:]
        return ModelConfig.of(message)


def _batching(message: Any) -> Any:
    """Return the part of a configuration that has the delay of the queue."""
    if not message.HasField("sequence_batching"):
        message.dynamic_batching.SetInParent()
        return message.dynamic_batching
    sequences = message.sequence_batching
    return sequences.oldest if sequences.HasField("oldest") else sequences.direct


def gpus_of(config: ModelConfig) -> int:
    """Return the number of GPUs that each have the count of instances; 1 without."""
    groups = config.instance_groups
    return max(1, len(groups[0].gpus)) if groups else 1


@dataclass(frozen=True)
class Option:
    """One configuration of all models.

    Parameters
    ----------
    settings
        By model.
    configs
        All changed configurations.
    cost
        Number of instances of the models that are planned.
    """

    settings: Mapping[str, Setting]
    configs: Mapping[str, ModelConfig]
    cost: int


def options(
    configs: Mapping[str, ModelConfig],
    instances: Mapping[str, Sequence[int]],
    delays_us: Mapping[str, Sequence[int]],
    batches: Mapping[str, Sequence[int]],
) -> list[Option]:
    """Return all combinations, those with fewer instances first.

    Raises
    ------
    ValueError
        A model is unknown, has no such setting, or there are too many combinations.
    """
    names = sorted({*instances, *delays_us, *batches})
    unknown = [name for name in names if name not in configs]
    if unknown:
        known = ", ".join(sorted(configs))
        raise ValueError(f"the request reaches no model {unknown[0]!r}, only {known}")
    for name in instances:
        if configs[name].message.HasField("ensemble_scheduling"):
            raise ValueError(
                f"model {name!r} is an ensemble, which has no instances: plan those of "
                "its steps"
            )
    for name in {**delays_us, **batches}:
        if not configs[name].max_batch_size:
            raise ValueError(
                f"model {name!r} has max_batch_size 0, so it has no batches and no "
                "delay to plan: expected a model that supports batches"
            )
    choices = [
        list(_settings(instances.get(n), delays_us.get(n), batches.get(n)))
        for n in names
    ]
    count = math.prod(map(len, choices))
    if count > MAX_OPTIONS:
        raise ValueError(f"{count:,} configurations; expected at most {MAX_OPTIONS:,}")
    found = [
        _option(configs, dict(zip(names, each, strict=True)))
        for each in itertools.product(*choices)
    ]
    return sorted(found, key=lambda option: option.cost)


def _settings(
    instances: Sequence[int] | None,
    delays_us: Sequence[int] | None,
    batches: Sequence[int] | None,
) -> Iterator[Setting]:
    of = (instances or (None,), delays_us or (None,), batches or (None,))
    return (Setting(*each) for each in itertools.product(*of))


def _option(
    configs: Mapping[str, ModelConfig], settings: Mapping[str, Setting]
) -> Option:
    changed = {
        name: setting.applied(configs[name]) for name, setting in settings.items()
    }
    cost = sum(
        len((changed.get(name) or config).instance_names())
        for name, config in configs.items()
        if not config.message.HasField("ensemble_scheduling")
    )
    return Option(settings, changed, cost)
