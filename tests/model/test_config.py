"""Configurations are immutable values."""

import dataclasses

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, TensorSpec, parse_pbtxt
from blsnb.model.normalization import normalise


def test_inputs_and_outputs_are_plain_values() -> None:
    """They have both names of a type; reshape is None if it is not configured."""
    config = parse_pbtxt(
        "input { name: 'A' data_type: TYPE_STRING dims: [-1, 3] optional: true "
        "reshape { shape: [] } allow_ragged_batch: true } "
        "input { name: 'B' data_type: 99 } output { name: 'C' data_type: TYPE_FP32 }"
    )

    assert (
        TensorSpec("A", "TYPE_STRING", "BYTES", (-1, 3), (), True, True),
        TensorSpec("B", "99", "", ()),
    ) == config.inputs
    assert (TensorSpec("C", "TYPE_FP32", "FP32", ()),) == config.outputs


def test_scalars_come_from_the_message() -> None:
    """Each property is the field of the same name."""
    config = parse_pbtxt(
        "name: 'm' backend: 'python' max_batch_size: 8 default_model_filename: 'a.py' "
        "model_transaction_policy { decoupled: true } dynamic_batching {} "
        "parameters { key: 'b' value { string_value: '2' } } "
        "parameters { key: 'a' value { string_value: '1' } } "
        "version_policy { specific { versions: 3 } } instance_group { count: 2 }"
    )

    assert ("m", "python", 8, "a.py") == (
        config.name,
        config.backend,
        config.max_batch_size,
        config.default_model_filename,
    )
    assert (True, "dynamic_batching") == (config.decoupled, config.scheduling)
    assert [("a", "1"), ("b", "2")] == list(config.parameters.items())
    assert [3] == list(config.version_policy.specific.versions)
    assert [2] == [group.count for group in config.instance_groups]
    assert "" == parse_pbtxt("").scheduling


def test_a_configuration_cannot_be_changed() -> None:
    """Changing a returned message has no effect."""
    config = parse_pbtxt("name: 'm'")
    config.message.name = "other"

    assert "m" == config.name
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.wire = b""  # type: ignore[misc]


def test_a_text_is_parsed_once() -> None:
    """A load reads it several times, and a new message of it is another object."""
    config = parse_pbtxt("name: 'parsed once'")

    assert parse_pbtxt("name: 'parsed once'") is config
    assert config.message is not config.message


def test_a_refused_text_names_its_path_each_time() -> None:
    """Nothing of a refusal is kept for another file with the same text."""
    for path in ("a/config.pbtxt", "b/config.pbtxt"):
        with pytest.raises(ModelConfigError, match=f"read text proto from {path}"):
            parse_pbtxt("name: refused", path=path)


def test_equal_configurations_may_have_different_texts() -> None:
    """Order of fields and notation do not matter."""
    first = parse_pbtxt("name: 'm' max_batch_size: 010")
    second = parse_pbtxt('max_batch_size: 8, name: "m"')

    assert first == second
    assert 1 == len({first, second})
    assert first == ModelConfig.of(second.message)


def test_repr_counts() -> None:
    """It is one line."""
    config = parse_pbtxt("name: 'm' input {} input {} output {}")

    assert "<ModelConfig m: 2 inputs, 1 output>" == repr(config)


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ("", [("m_0", "CPU", 0)]),
        ("instance_group {}", [("m_0_0", "CPU", 0)]),
        (
            "instance_group [{ count: 2 }, { name: 'foo' kind: KIND_MODEL }]",
            [("m_0_0", "CPU", 0), ("m_0_1", "CPU", 0), ("foo_0", "MODEL", 0)],
        ),
        (
            "instance_group { kind: KIND_GPU count: 2 }",
            [(f"m_0_{count}", "GPU", device) for count in (0, 1) for device in (0, 1)],
        ),
    ],
)
def test_instances_are_named_as_on_triton(
    groups: str, names: list[tuple[str, str, int]]
) -> None:
    """An implicit group has the model's name, an unnamed one also its number."""
    gpus = 2 if "GPU" in groups else 0
    config = normalise(parse_pbtxt(groups), model_name="m", gpu_count=gpus)

    assert names == [spec[:3] for spec in config.instance_names()]


def test_the_error_of_a_text_has_a_position() -> None:
    """The message is Triton's; the advice contains the line and a caret."""
    with pytest.raises(ModelConfigError) as caught:
        parse_pbtxt("name: 'm'\nfoo: 1", path="repo/m/config.pbtxt")
    error = caught.value

    assert "failed to read text proto from repo/m/config.pbtxt" == error.message
    assert ("poll", "INTERNAL") == (error.stage, error.code)
    assert (
        "Error parsing text-format inference.ModelConfig: 2:4: "
        'Message type "inference.ModelConfig" has no field named "foo".\n'
        "foo: 1\n   ^" == error.advice
    )


def test_a_printed_configuration_can_be_parsed() -> None:
    """The result is equal."""
    config = parse_pbtxt("name: 'é' input { name: 'X' dims: [-1] } parameters { }")

    assert config == parse_pbtxt(config.to_pbtxt())


def test_dict_and_text_agree() -> None:
    """The dict is that of the JSON text, and new."""
    config = normalise(parse_pbtxt(""), model_name="m")
    config.to_dict()["name"] = "other"

    assert "m" == config.to_dict()["name"]
