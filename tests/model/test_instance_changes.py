"""Instances to keep and to add when instance groups change."""

from __future__ import annotations

import pytest

from blsnb.model.config import ModelConfig, parse_pbtxt
from blsnb.model.instance_changes import (
    InstanceChanges,
    needs_no_reload,
    with_instances_of,
)
from blsnb.model.normalization import normalise


def config(groups: str = "", more: str = "") -> ModelConfig:
    """Return a normalised configuration."""
    return normalise(parse_pbtxt(f'backend: "python" {groups} {more}'), model_name="m")


def changes(before: str, after: str) -> tuple[list[int], list[str]]:
    """Return the indices of kept instances, and the names of added ones."""
    found = InstanceChanges.between(
        config(before).instance_names(), config(after).instance_names()
    )
    return list(found.kept), [spec.name for spec in found.added]


TWO = "instance_group { count: 2 }"


def test_added_instances_follow_the_present_ones():
    """Each has the name of its number."""
    assert ([0], ["m_0_1"]) == changes("", TWO)


def test_of_equal_instances_the_last_is_kept_first():
    """Triton does the same."""
    assert ([2], []) == changes("instance_group { count: 3 }", "")
    assert ([1, 0], []) == changes(TWO, TWO)


def test_the_name_of_a_group_may_change_and_its_kind_may_not():
    """Kinds, devices and other settings must be equal."""
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
def test_other_changes_need_a_reload(more, only):
    """Instance groups and the version policy do not."""
    assert only is needs_no_reload(config(), config(more=more))


def test_only_instance_groups_are_replaced():
    """Other fields are those of the ready model."""
    taken = with_instances_of(
        config(more="max_batch_size: 2"), config(TWO, "max_batch_size: 4")
    )

    assert (2, 2) == (taken.max_batch_size, len(taken.instance_names()))
