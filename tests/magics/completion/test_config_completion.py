"""Specification of Tab and Shift+Tab in %%triton_config cells."""

import pytest

from blsnb.magics.completion.config_completion import field_documentation

from .test_line_completion import completer, texts

__all__ = ["completer"]

CELL = "%%triton_config m\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_b", ["max_batch_size"]),
        ("input { data_type: TYPE_FP3", ["TYPE_FP32"]),
        ("input [ { na", ["name"]),
        ("model_transaction_policy { decoupled: t", ["true"]),
        ("instance_group { kind: KIND_G", ["KIND_GPU"]),
    ],
)
def test_fields_and_values_are_offered(completer, text, expected):
    """Those of the message at the cursor."""
    assert expected == texts(completer, CELL + text)


def test_no_field_is_offered_in_a_text(completer):
    """A value in quotes is the author's."""
    assert "max_batch_size" not in texts(completer, CELL + 'name: "max_b')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_batch", "max_batch_size: Largest batch; 0 for a model"),
        ("KIND_", "KIND_CPU: The CPU."),
        ("4", ""),
    ],
)
def test_a_field_is_explained(text, expected):
    """With one line, wherever the cursor is in its name."""
    cell = CELL + "max_batch_size: 4\ninstance_group { kind: KIND_CPU }"

    found = field_documentation(cell, cell.index(text) + len(text))

    assert found.startswith(expected)
    assert bool(expected) == bool(found)


def test_a_finding_is_shown_with_the_field_that_it_is_about():
    """A setting without effect, but not in a text that is incomplete."""
    cell = CELL + "max_batch_size: 0\ndynamic_batching { }\n"
    at = cell.index("dynamic") + 3
    found = field_documentation(cell, at).split("\n\n")

    assert ["⚠ dynamic_batching has no effect"] == [each[:32] for each in found[1:]]
    assert 1 == len(field_documentation(cell + "input {", at).split("\n\n"))
