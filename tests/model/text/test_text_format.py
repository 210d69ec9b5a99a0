"""The text format accepts exactly what Triton's parser accepts."""

import json
from pathlib import Path

import pytest

from blsnb.model.text import text_format as text
from blsnb.model.text.schema import new_message

GOLDEN = json.loads(
    Path(__file__, "../../golden/refused_texts.json").resolve().read_text()
)


def parsed(source: str) -> str:
    message = new_message()
    text.parse(source, message)
    return text.print_message(message).strip()


@pytest.mark.parametrize(("source", "position"), GOLDEN["places"])
def test_refused_texts_fail_at_tritons_position(source: str, position: str) -> None:
    """Line and column are those in the log of a real server."""
    with pytest.raises(text.TextFormatError) as caught:
        parsed(source)
    error = caught.value

    assert f"{error.line}:{error.column}" == position


@pytest.mark.parametrize("value", ["true0x1", "-0x0", "0x2", "-00"])
def test_invalid_booleans_are_refused(value: str) -> None:
    """Only 0, 1 and their octal and hexadecimal forms are booleans."""
    with pytest.raises(text.TextFormatError):
        parsed(f"dynamic_batching {{ preserve_ordering: {value} }}")


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ("max_batch_size: 010", "max_batch_size: 8"),
        ("max_batch_size: 0x1F", "max_batch_size: 31"),
        ("max_batch_size: - 3", "max_batch_size: -3"),
        ("max_batch_size: -\n# why\n3", "max_batch_size: -3"),
        ("max_batch_size: -0", "max_batch_size: 0"),
        ("max_batch_size: -010", "max_batch_size: -8"),
        ("max_batch_size: 0 max_batch_size: 5", "max_batch_size: 5"),
        ("max_batch_size:4,platform:'b';", "platform: 'b' max_batch_size: 4"),
        ("name: 'a'platform: 'b'", "name: 'a' platform: 'b'"),
        ("name: 'a' \"b\"\n'c'", "name: 'abc'"),
        (r"name: '\x41\102\t\'\?'", 'name: "AB\t\'?"'),
        (r"name: '\u20ac\ud83d\ude00\U0001F600'", "name: '€😀😀'"),
        (r"name: '\U0010ffff'", "name: '\U0010ffff'"),
        (r"name: '\U00110000'", r"name: '\\U00110000'"),
        ("input { data_type: 013 }", "input { data_type: TYPE_FP32 }"),
        ("input { data_type: 0xB }", "input { data_type: 11 }"),
        ("input { data_type: 99 }", "input: { data_type: 99 }"),
        ("input { data_type: - 1 }", "input { data_type: -1 }"),
        ("input < name: 'x' >", "input { name: 'x' }"),
        ("input [ {} , {} ]", "input {} input {}"),
        ("input { dims: [ ] dims: [-1, - 1] }", "input { dims: -1 dims: -1 }"),
        (
            "dynamic_batching { preserve_ordering: 0x1 }",
            "dynamic_batching { preserve_ordering: True }",
        ),
        (
            "dynamic_batching { preserve_ordering: 00 }",
            "dynamic_batching { preserve_ordering: f }",
        ),
        (
            "sequence_batching { direct { minimum_slot_utilization: - INF } }",
            "sequence_batching { direct { minimum_slot_utilization: -inf } }",
        ),
        (
            "sequence_batching { direct { minimum_slot_utilization: 1.5f } }",
            "sequence_batching { direct { minimum_slot_utilization: 1.5 } }",
        ),
        (
            "metric_tags { key: 'a' value: '1' } metric_tags { key: 'a' value: '2' }",
            "metric_tags { key: 'a' value: '2' }",
        ),
        ("metric_tags { value: '1' }", "metric_tags { key: '' value: '1' }"),
        (" # only a comment", ""),
    ],
)
def test_accepted_texts_have_tritons_values(source: str, same: str) -> None:
    """Octal numbers, separate signs, separators and escapes are accepted."""
    assert parsed(same) == parsed(source)


def test_the_excerpt_marks_the_position_below_tabs() -> None:
    """The caret is below the position at any width of tabs."""
    with pytest.raises(text.TextFormatError) as caught:
        parsed("name: 'm'\n\tfoo: 1\n")

    assert "\tfoo: 1\n\t   ^" == caught.value.excerpt


def test_a_reason_does_not_repeat_the_line() -> None:
    """The excerpt contains the line."""
    with pytest.raises(text.TextFormatError) as caught:
        parsed("max_batch_size: 'x'")

    assert "1:17: Couldn't parse integer: 'x'" == str(caught.value)


def test_a_printed_message_can_be_parsed() -> None:
    """The result is equal."""
    source = "name: 'é\\n\\'\"' input { data_type: 99 dims: [-1, 3] } parameters { }"
    message = new_message()
    text.parse(source, message)
    again = new_message()
    text.parse(text.print_message(message), again)

    assert message == again
