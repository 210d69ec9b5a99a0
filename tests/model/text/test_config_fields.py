"""Specification of the fields of a configuration and their meanings."""

import pytest

from blsnb.model.text.config_fields import candidates, field_key, meanings, place_at_end
from blsnb.model.text.schema import schema


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


PLACES = {
    "": ("ModelConfig", ""),
    "max_batch_size: 8 ": ("ModelConfig", ""),
    "max_batch_size: ": ("ModelConfig", "max_batch_size"),
    "input { ": ("ModelInput", ""),
    'input [ { name: "X" data_type: ': ("ModelInput", "data_type"),
    'input [ { name: "X" }, { ': ("ModelInput", ""),
    "input { dims: [ 1, 2 ] ": ("ModelInput", ""),
    "input { dims: 4 } ": ("ModelConfig", ""),
    "dynamic_batching { } instance_group { kind: ": ("ModelInstanceGroup", "kind"),
    'parameters { key: "a" value { ': ("ModelParameter", ""),
    "nonsense: 3 ": ("ModelConfig", ""),
    "# input {\n": ("ModelConfig", ""),
    'backend: "python # {" ': ("ModelConfig", ""),
}


@pytest.mark.parametrize("text", PLACES)
def test_a_place_is_found_in_an_unfinished_text(text):
    """The message around it, and the field whose value is begun."""
    place = place_at_end(text)

    assert place is not None
    assert PLACES[text] == (place.message.name, getattr(place.field, "name", ""))


@pytest.mark.parametrize("text", ["# a", 'backend: "pyth', "nonsense { "])
def test_other_places_have_no_candidates(text):
    """Comments, texts and unknown messages."""
    assert place_at_end(text) is None


def test_values_of_enumerations_and_booleans_are_candidates():
    """Numbers and texts have none."""
    kind = place_at_end("instance_group { kind: ")
    decoupled = place_at_end("model_transaction_policy { decoupled: ")
    name = place_at_end("name: ")

    assert "The CPU." == candidates(kind)["KIND_CPU"]
    assert ["true", "false"] == list(candidates(decoupled))
    assert {} == candidates(name)
