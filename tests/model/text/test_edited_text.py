"""Specification of edits of a config.pbtxt that keep its comments and formatting."""

from __future__ import annotations

import difflib

import pytest

from blsnb.model.config import parse_pbtxt
from blsnb.model.text.edited_text import edited

WRITTEN = """\
# Owned by the vision team.
name: "detector"   # as its folder
backend: "python"
max_batch_size: 8
input [
  { name: "X" data_type: TYPE_FP32 dims: [ -1 ] },  # pixels
  { name: "Z" data_type: TYPE_INT32 dims: [ 1 ] }
]
output { name: "Y" data_type: TYPE_FP32 dims: -1 }

# One is enough at night.
instance_group [
  {
    # of the second socket
    kind: KIND_CPU  # no GPU here
    count: 1;
  }
]
dynamic_batching {
  preferred_batch_size: [ 4, 8 ]
  max_queue_delay_microseconds: 100 # measured
}
"""


def changed(text, change):
    """Return the edited text of a changed message, which is its content."""
    message = parse_pbtxt(text).message
    change(message)
    found = edited(text, message)

    assert message == parse_pbtxt(found).message
    return found


def lines(before, after):
    """Return the removed and added lines."""
    found = difflib.ndiff(before.splitlines(), after.splitlines())
    return sorted(line for line in found if line[0] in "+-")


def set_count(message):
    """Plan three instances in the first group."""
    message.instance_group[0].count = 3


def test_only_the_lines_of_changed_fields_change():
    """Comments, blanks and semicolons stay."""

    def change(message):
        set_count(message)
        message.dynamic_batching.max_queue_delay_microseconds = 500

    assert [
        "+     count: 3;",
        "+   max_queue_delay_microseconds: 500 # measured",
        "-     count: 1;",
        "-   max_queue_delay_microseconds: 100 # measured",
    ] == lines(WRITTEN, changed(WRITTEN, change))


def test_an_unchanged_message_keeps_the_text():
    """Even the spelling of its values."""
    text = "max_batch_size: 0x8"

    assert text == changed(text, lambda message: None)


def test_a_removed_field_is_removed_with_its_line():
    """A comment behind it stays."""

    def change(message):
        del message.dynamic_batching.preferred_batch_size[:]
        message.dynamic_batching.max_queue_delay_microseconds = 0

    assert [
        "+    # measured",
        "-   max_queue_delay_microseconds: 100 # measured",
        "-   preferred_batch_size: [ 4, 8 ]",
    ] == lines(WRITTEN, changed(WRITTEN, change))


def test_a_new_message_is_at_the_end():
    """It is printed as by Triton."""

    def change(message):
        message.version_policy.latest.num_versions = 2

    assert [
        "+     num_versions: 2",
        "+   latest {",
        "+   }",
        "+ version_policy {",
        "+ }",
    ] == lines(WRITTEN, changed(WRITTEN, change))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "instance_group { kind: KIND_CPU }",
            "instance_group { kind: KIND_CPU count: 3 }",
        ),
        ("instance_group [ { } ]  # c", "instance_group [ { count: 3 } ]  # c"),
        ("instance_group {}", "instance_group { count: 3 }"),
        ("instance_group <\n>\n", "instance_group <\n  count: 3\n>\n"),
        (
            "instance_group {\n\tkind: KIND_CPU # c\n}",
            "instance_group {\n\tkind: KIND_CPU # c\n\tcount: 3\n}",
        ),
        ("instance_group {\r\n}\r\n", "instance_group {\r\n  count: 3\r\n}\r\n"),
        ("instance_group { count: 0 }", "instance_group { count: 3 }"),
        (
            "instance_group{count:1,kind:KIND_CPU}",
            "instance_group{count:3,kind:KIND_CPU}",
        ),
    ],
)
def test_a_message_is_edited_in_its_own_style(text, expected):
    """In one line or several, in braces or in a list."""
    assert expected == changed(text, set_count)


def test_added_fields_are_in_the_order_of_triton():
    """Though all of them are inserted at one place."""

    def change(message):
        set_count(message)
        message.instance_group[0].gpus.append(1)
        message.instance_group[0].kind = 1

    assert "instance_group { kind: KIND_GPU count: 3 gpus: 1 }" == changed(
        "instance_group { }", change
    )


@pytest.mark.parametrize("begin", ["", "# nothing yet", "max_batch_size: 1\r\n"])
def test_a_text_without_the_field_gets_it(begin):
    """The line before it ends as the others."""
    found = changed(begin, lambda message: message.instance_group.add(count=2))

    assert found.startswith(begin)
    assert "  count: 2" in found
    assert ("\r\n" in begin) == (found.count("\n") == found.count("\r\n"))


@pytest.mark.parametrize(
    "groups",
    [
        "instance_group [ { count: 1 }, { count: 2 }, { count: 4 } ]",
        "instance_group [ { count: 1 }, # a\n { count: 2 }, # b\n { count: 4 } # c\n ]",
        "instance_group { count: 1 }\n# of the night\ninstance_group { count: 2 }",
    ],
)
def test_removed_items_leave_the_others(groups):
    """With the comments of the list."""

    def change(message):
        del message.instance_group[1:]

    found = changed(groups, change)

    assert groups.count("#") == found.count("#")
    assert "{ count: 1 }" in found


def test_what_is_not_followed_is_printed_anew():
    """A map is the only such field; the content is right in any case."""
    text = '# c\nparameters { key: "a" value { string_value: "1" } }'

    def change(message):
        message.parameters["a"].string_value = "2"

    assert "#" not in changed(text, change)
