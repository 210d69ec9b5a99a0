"""Specification of the lines of fields in a configuration's text."""

import pytest

from blsnb.model.text.text_fields import field_lines

TEXT = """# A comment { with brackets
name: "m" max_batch_size: 4
input [
  {
    name: "A", dims: [ 1,
      2 ]
  },
  { name: "B"; dims: -1 }
]
input < name: "C"
>
parameters { key: "a" "b" value { string_value: "}" } }
parameters {
  key: "c" }
sequence_batching {
  control_input { name: "S"
    control { kind: CONTROL_SEQUENCE_START
      int32_false_true: [ 0, 1 ] }
  }
}
"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("max_batch_size", 2),
        ("input", 3),
        ("input[0]", 4),
        ("input[0].dims", 5),
        ("input[1].name", 8),
        ("input[2].name", 10),
        ("parameters['ab']", 12),
        ("parameters['c']", 13),
        ("sequence_batching.control_input.control.kind", 17),
        ("sequence_batching[0].control_input[0].control[0].int32_false_true", 18),
    ],
)
def test_a_field_has_its_line(field, line):
    """Messages are counted over lists and repetitions."""
    assert line == field_lines(TEXT)[field]


@pytest.mark.parametrize("text", ["", "input {", "input [", "name: -", "}"])
def test_an_incomplete_text_has_the_lines_before_its_end(text):
    """The walk ends with the text."""
    assert {1} >= set(field_lines(text).values())
