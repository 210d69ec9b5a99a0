"""Whatever a configuration says, it says again after being written down."""

from __future__ import annotations

import re

from hypothesis import example, given
from strategies import configs, examples

from blsnb.model.config import parse_json, parse_pbtxt


@examples(150)
@given(configs())
def test_a_config_reads_back_from_its_text(config):
    """Any string, number, map and unknown enumerator survives a config.pbtxt."""
    assert config == parse_pbtxt(config.to_pbtxt())


NEGATIVE_ZERO = re.compile(r"-0\.0\b")
CONTROL = "sequence_batching { control_input { control { fp32_false_true: -0.0 } } }"
SLOTS = "sequence_batching { direct { minimum_slot_utilization: -0.0 } }"


def unsigned(config):
    """Return the text of a configuration, without the signs of zeros.

    A single value of zero is that of a field which is not set; a negative one is not.
    """
    return parse_pbtxt(NEGATIVE_ZERO.sub("0.0", config.to_pbtxt())).to_pbtxt()


@examples(150)
@given(configs())
@example(parse_pbtxt(CONTROL))
@example(parse_pbtxt(SLOTS))
def test_a_config_reads_back_from_its_json(config):
    """``initialize`` and load calls use this form, which has no negative zero."""
    assert unsigned(config) == unsigned(parse_json(config.to_json()))


def test_a_negative_zero_is_written_as_triton_writes_it():
    """The real server's JSON has no sign either."""
    assert '"fp32_false_true":[0]' in parse_pbtxt(CONTROL).to_json()
