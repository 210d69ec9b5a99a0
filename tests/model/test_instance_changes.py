"""Which instances stay when the instance groups of a model change."""

from __future__ import annotations

import pytest

from blsnb.model.config import ModelConfig, parse_pbtxt
from blsnb.model.instance_changes import (
    InstanceChanges,
    differ_in_instances_only,
    with_instances_of,
)
from blsnb.model.normalization import normalise


def config(groups: str = "", more: str = "") -> ModelConfig:
    """Return a normalised configuration."""
    return normalise(parse_pbtxt(f'backend: "python" {groups} {more}'), model_name="m")


def changes(before: str, after: str) -> tuple[list[int], list[str]]:
    """Return the numbers of those that stay, and the names of those that come."""
    found = InstanceChanges.between(
        config(before).instance_names(), config(after).instance_names()
    )
    return list(found.kept), [spec.name for spec in found.added]


TWO = "instance_group { count: 2 }"


def test_more_are_made_behind_those_that_there_are():
    """Each has the name of its place."""
    assert ([0], ["m_0_1"]) == changes("", TWO)


def test_of_equal_ones_the_last_stays_first():
    """As on Triton."""
    assert ([2], []) == changes("instance_group { count: 3 }", "")
    assert ([1, 0], []) == changes(TWO, TWO)


def test_a_name_makes_no_difference_and_a_kind_does():
    """What an instance is, not what its group is called."""
    named = 'instance_group { name: "g" count: 2 }'
    kind = "instance_group { count: 2 kind: KIND_MODEL }"

    assert ([1, 0], []) == changes(TWO, named)
    assert ([], ["m_0_0", "m_0_1"]) == changes(TWO, kind)


@pytest.mark.parametrize(
    ("more", "only"),
    [
        (TWO, True),
        ("version_policy { all {} }", True),
        ("max_batch_size: 2", False),
        ('parameters { key: "a" }', False),
    ],
)
def test_what_else_changes_needs_a_load(more, only):
    """Instance groups and the choice of versions do not."""
    assert only is differ_in_instances_only(config(), config(more=more))


def test_the_groups_are_taken_over_and_nothing_else():
    """The rest is what serves."""
    taken = with_instances_of(
        config(more="max_batch_size: 2"), config(TWO, "max_batch_size: 4")
    )

    assert (2, 2) == (taken.max_batch_size, len(taken.instance_names()))
