"""Findings in configurations that Triton accepts."""

from __future__ import annotations

import pytest

from blsnb.model.config import parse_pbtxt
from blsnb.model.rules.lint import advised, findings, lint
from blsnb.model.text.text_fields import field_lines


def tensors(*dims, size=8):
    """Return a configuration with an input and an output of these dims."""
    rows = (
        f"input {{ name: 'X{n}' data_type: TYPE_FP32 dims: {list(each)} }} "
        f"output {{ name: 'Y{n}' data_type: TYPE_FP32 dims: {list(each)} }} "
        for n, each in enumerate(dims)
    )
    return f"max_batch_size: {size} {' '.join(rows)}"


BATCH = "if that is the batch, omit it from dims"


@pytest.mark.parametrize(
    "text",
    [tensors((-1, 3)), tensors((-1, 3, 4), (-1, 7)), tensors((8, 3), (8, -1))],
)
def test_a_batch_in_dims_is_found(text):
    """Every tensor has it, together with max_batch_size."""
    (found,) = findings(parse_pbtxt(text))

    config = parse_pbtxt(text)
    dims = config.inputs[0].dims
    assert (
        f"max_batch_size is 8 and dims of every tensor begin with {dims[0]}: {BATCH} "
        f"(for 'X0' write dims: [ {', '.join(map(str, dims[1:]))} ]), because Triton "
        "adds it itself"
    ) == found
    assert ["input[0].dims"] == [each.field for each in lint(config)]


def test_a_batch_in_dims_of_outputs_is_found():
    """A model may have no inputs."""
    text = "max_batch_size: 8 output { name: 'Y' data_type: TYPE_FP32 dims: [8, 3] }"

    assert ["output[0].dims"] == [each.field for each in lint(parse_pbtxt(text))]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "max_batch_size: 8",
        tensors((-1, 3), size=0),
        tensors((-1,)),
        tensors((-1, -1, 3)),
        tensors((-1, 3), (4, 3)),
        tensors((-1, 3), (-1,)),
        tensors((3, 224, 224)),
        "dynamic_batching {} max_batch_size: 4",
        "instance_group { kind: KIND_AUTO }",
        'parameters { key: "a" value { string_value: "b" } }',
    ],
)
def test_probably_intended_dims_are_not_a_finding(text):
    """Tokens and images have variable axes, too."""
    assert [] == findings(parse_pbtxt(text))


def test_a_batch_of_one_in_dims_is_found():
    """A batch size of one is a batch, too."""
    (found,) = findings(parse_pbtxt(tensors((1, 3), size=1)))

    assert BATCH in found


def test_a_batch_in_dims_has_a_fix():
    """The finding contains the dims that a tensor should have."""
    (found,) = findings(parse_pbtxt(tensors((-1, 3, 4))))
    assert (
        "max_batch_size is 8 and dims of every tensor begin with -1: if that is the "
        "batch, omit it from dims (for 'X0' write dims: [ 3, 4 ]), because Triton adds "
        "it itself"
    ) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "dynamic_batching {}",
            "dynamic_batching has no effect while max_batch_size is 0: every request "
            "is executed alone",
        ),
        (
            "instance_group { kind: KIND_GPU }",
            "KIND_GPU needs a GPU, and this machine has none: with KIND_AUTO, or "
            "without kind, a GPU is used if there is one, else the CPU",
        ),
        (
            f"{tensors((3,))} input {{ name: 'X0' }}",
            "the input 'X0' is declared 2 times",
        ),
        (
            "output [ { name: 'Y' }, { name: 'Y' }, { name: 'Y' } ]",
            "the output 'Y' is declared 3 times",
        ),
        (
            'parameters { key: "a" value {} }',
            "the parameter 'a' has no string_value, so its text is empty",
        ),
        (
            "sequence_batching { control_input { name: 'ID' control { kind: "
            "CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } } }",
            "the control 'ID' has TYPE_STRING: Triton 24.10 refuses every request of "
            "such a model, unless its correlation id has exactly 128 characters; "
            "request.correlation_id() has the text there, too",
        ),
    ],
)
def test_other_mistakes_are_found(text, found):
    """Each finding is one sentence."""
    assert [found] == findings(parse_pbtxt(text))


def test_kind_gpu_is_not_a_finding_on_a_machine_with_a_gpu():
    """The configuration is intended."""
    config = parse_pbtxt("instance_group { kind: KIND_GPU }")
    assert [] == findings(config, gpu_count=1)


def test_findings_become_lines_of_advice():
    """Each line is a sentence."""
    text = "dynamic_batching {} instance_group { kind: KIND_GPU }"
    first, second = advised(parse_pbtxt(text)).splitlines()

    assert first.startswith("Dynamic_batching has no effect")
    assert second.startswith("KIND_GPU needs a GPU")
    assert second.endswith(".")


CONTROL = "name: 'S' control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING }"
ODD = (
    tensors((-1, 3)),
    "dynamic_batching {}",
    "instance_group { kind: KIND_CPU } instance_group { kind: KIND_GPU }",
    "input [ { name: 'X' }, { name: 'X' } ]",
    "parameters { key: 'a' }",
    f"sequence_batching {{ control_input {{ {CONTROL} }} }}",
)


@pytest.mark.parametrize("text", ODD)
def test_a_finding_names_a_field_of_the_text(text):
    """Its line can be shown."""
    (found,) = lint(parse_pbtxt(text))

    assert 1 == field_lines(text)[found.field]
