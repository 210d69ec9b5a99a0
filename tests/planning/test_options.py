"""The configurations that a plan compares."""

from __future__ import annotations

import pytest

from blsnb.model.config import ModelConfig
from blsnb.planning.options import Setting, options

from .configs import config

BATCHES = "max_batch_size: 8 dynamic_batching { preferred_batch_size: [4, 8] }"
OLDEST = "max_batch_size: 8 sequence_batching { oldest { preferred_batch_size: 4 } }"
DIRECT = "max_batch_size: 8 sequence_batching { direct {} }"
STEPS = "ensemble_scheduling { step { model_name: 'a' } }"
CONFIGS = {
    "a": config("a", 2, BATCHES),
    "b": config("b"),
    "e": config("e", more=STEPS),
}


def applied(setting, more=""):
    """Return the changed configuration of a model with two instances."""
    return setting.applied(config("m", 2, more)).message


def test_a_setting_replaces_one_value():
    """Other values stay, and preferred sizes go with a new maximum."""
    delayed = applied(Setting(delay_us=5), BATCHES)
    smaller = applied(Setting(batch=2), BATCHES)

    assert config("m", 2).message == applied(Setting())
    assert config("m", 3).message == applied(Setting(instances=3))
    assert (5, [4, 8], 8) == (
        delayed.dynamic_batching.max_queue_delay_microseconds,
        list(delayed.dynamic_batching.preferred_batch_size),
        delayed.max_batch_size,
    )
    assert ([], 2) == (
        list(smaller.dynamic_batching.preferred_batch_size),
        smaller.max_batch_size,
    )
    assert applied(Setting(batch=2), "max_batch_size: 8").HasField("dynamic_batching")


@pytest.mark.parametrize(("more", "strategy"), [(OLDEST, "oldest"), (DIRECT, "direct")])
def test_a_model_with_sequences_has_the_delay_of_its_strategy(more, strategy):
    """It has no dynamic batching."""
    message = applied(Setting(delay_us=5, batch=2), more)
    found = getattr(message.sequence_batching, strategy)

    assert (5, 2) == (found.max_queue_delay_microseconds, message.max_batch_size)
    assert [] == list(getattr(found, "preferred_batch_size", []))
    assert not message.HasField("dynamic_batching")


def test_instances_are_one_group():
    """It is the first; without one it has the kind of the completed configuration."""
    message = config("m").message
    del message.instance_group[:]
    bare = ModelConfig.of(message)
    groups = (
        Setting(instances=3).applied(given, served).message.instance_group
        for given, served in (
            (config("m", 2, "instance_group { count: 5 }"), None),
            (bare, config("m")),
            (bare, None),
        )
    )
    kinds = ["KIND_AUTO", "KIND_GPU", "KIND_CPU"]

    assert [("KIND_AUTO", 3), ("KIND_CPU", 3), ("KIND_AUTO", 3)] == [
        (kinds[group.kind], group.count) for [group] in groups
    ]


def test_all_combinations_are_compared_the_cheapest_first():
    """The cost is the number of all instances; an ensemble has none."""
    found = options(CONFIGS, {"a": [2, 1]}, {"a": [0, 5]}, {})

    assert [
        (2, Setting(1, 0)),
        (2, Setting(1, 5)),
        (3, Setting(2, 0)),
        (3, Setting(2, 5)),
    ] == [(each.cost, each.settings["a"]) for each in found]
    assert [["a"]] * 4 == [[*each.configs] for each in found]
    [unchanged] = options(CONFIGS, {}, {}, {})
    assert (3, {}, {}) == (unchanged.cost, unchanged.settings, unchanged.configs)


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        (({"x": [1]}, {}, {}), "the request reaches no model 'x', only a, b, e"),
        (
            ({"e": [1]}, {}, {}),
            "model 'e' is an ensemble, which has no instances: plan those of its steps",
        ),
        *(
            (
                choices,
                "model 'b' has max_batch_size 0, so it has no batches and no delay to "
                "plan: expected a model that supports batches",
            )
            for choices in (({}, {"b": [1]}, {}), ({}, {}, {"b": [1]}))
        ),
        (
            ({"a": [1] * 3}, {"a": [1] * 667}, {}),
            "2,001 configurations; expected at most 2,000",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(choices, text):
    """Before anything is simulated."""
    with pytest.raises(ValueError, match=r".") as refused:
        options(CONFIGS, *choices)
    assert text == str(refused.value)
