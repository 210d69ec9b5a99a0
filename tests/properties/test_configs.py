"""Whatever a configuration says, it says again after being written down."""

from __future__ import annotations

from hypothesis import given, settings
from strategies import configs

from blsnb.model.config import parse_json, parse_pbtxt


@settings(max_examples=150)
@given(configs())
def test_a_config_reads_back_from_its_text(config):
    """Any string, number, map and unknown enumerator survives a config.pbtxt."""
    assert config == parse_pbtxt(config.to_pbtxt())


@settings(max_examples=150)
@given(configs())
def test_a_config_reads_back_from_its_json(config):
    """``initialize`` and load calls use this form."""
    assert config == parse_json(config.to_json())
