"""Specification of the fields of a configuration and their meanings."""

import json
from pathlib import Path

import pytest

from blsnb.model.text.config_fields import candidates, field_key, meanings, place_at_end
from blsnb.model.text.schema import schema
from js import config_fields


def reachable():
    """Return the names of all fields and enumerators of a configuration."""
    names, open_, seen = set(), [schema().ModelConfig.DESCRIPTOR], set()
    while open_:
        message = open_.pop()
        if message.full_name in seen:
            continue
        seen.add(message.full_name)
        for field in message.fields:
            if not message.GetOptions().map_entry:
                names.add(field_key(field))
            if field.message_type is not None:
                open_.append(field.message_type)
            if field.enum_type is not None:
                names |= {value.name for value in field.enum_type.values}
    return names


def test_every_field_has_a_meaning():
    """And every enumerator; no line is of an unknown one."""
    assert reachable() == set(meanings())
    assert "" not in meanings().values()


PLACES = json.loads(Path(__file__).with_name("config_places.json").read_text())


@pytest.mark.parametrize(("text", "message", "field"), PLACES)
def test_a_place_is_found_in_an_unfinished_text(text, message, field):
    """It is the message around it and the field whose value is begun; comments, texts
    and unknown messages have none.
    """
    # The editor of the panel reads the same file.
    place = place_at_end(text)
    found = ("", "") if place is None else _names(place)

    assert (message, field) == found


def _names(place):
    return place.message.name, getattr(place.field, "name", "")


def test_the_editor_of_the_panel_has_the_same_fields():
    """Otherwise run `make js`."""
    assert config_fields.text() == config_fields.FILE.read_text("utf-8")


def test_values_of_enumerations_and_booleans_are_candidates():
    """Numbers and texts have none."""
    kind = place_at_end("instance_group { kind: ")
    decoupled = place_at_end("model_transaction_policy { decoupled: ")
    name = place_at_end("name: ")

    assert "The CPU." == candidates(kind)["KIND_CPU"]
    assert ["true", "false"] == list(candidates(decoupled))
    assert {} == candidates(name)
