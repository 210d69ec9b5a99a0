"""Effects of auto_complete_config on a configuration."""

import json
from typing import Any

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.completion import check_ignored, check_returned, complete
from blsnb.model.config import ModelConfig, TensorSpec, parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.pb_utils import config as pb_utils_config


def normal(text: str = "") -> ModelConfig:
    return normalise(parse_pbtxt(text), model_name="m")


def handed_out(config: ModelConfig) -> pb_utils_config.ModelConfig:
    return pb_utils_config.ModelConfig(config.to_json())


def text_of(completed: Any) -> str:
    tree = completed.as_dict() if hasattr(completed, "as_dict") else completed
    return json.dumps(tree)


def test_inputs_outputs_and_batching_have_an_effect() -> None:
    """The configuration contains the values of the setters, normalised."""
    config = normal()
    returned = handed_out(config)
    returned.set_max_batch_size(8)
    returned.set_dynamic_batching()
    returned.set_model_transaction_policy({"decoupled": True})
    returned.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [-1]})
    returned.add_output({"name": "Y", "data_type": "TYPE_STRING", "dims": [1]})
    completed = complete(config, text_of(returned))

    assert (TensorSpec("X", "TYPE_FP32", "FP32", (-1,)),) == completed.inputs
    assert (TensorSpec("Y", "TYPE_STRING", "BYTES", (1,)),) == completed.outputs
    assert (8, True) == (completed.max_batch_size, completed.decoupled)
    assert [8] == completed.message.dynamic_batching.preferred_batch_size


def test_other_keys_have_no_effect() -> None:
    """A changed name, group or parameter is dropped; a changed batch size is not."""
    config = normal()
    returned = handed_out(config)
    returned.as_dict().update(
        name="other",
        max_batch_size=4,
        instance_group=[],
        parameters={"a": {"string_value": "b"}},
    )
    completed = complete(config, text_of(returned))

    assert ("m", 4, {}) == (
        completed.name,
        completed.max_batch_size,
        completed.parameters,
    )
    assert config.instance_groups == completed.instance_groups


def test_an_unchanged_configuration_is_kept() -> None:
    """Returning the argument completes nothing; missing keys have default values."""
    config = normal(
        "max_batch_size: 8 input { name: 'X' data_type: TYPE_FP32 dims: 1 "
        "reshape { } format: FORMAT_NONE } dynamic_batching { "
        "max_queue_delay_microseconds: 5 } parameters { key: 'a' value { } }"
    )

    assert config == complete(config, text_of(handed_out(config)))
    cleared = complete(config, "{}")
    assert (0, ()) == (cleared.max_batch_size, cleared.inputs)


@pytest.mark.parametrize("data_type", ["FP32", "TYPE_FOO"])
def test_an_unknown_data_type_fails_the_load(data_type: str) -> None:
    """The text is Triton's; the advice names the value."""
    config = normal()
    returned = handed_out(config)
    returned.add_input({"name": "X", "data_type": data_type, "dims": [1]})
    with pytest.raises(ModelConfigError) as caught:
        complete(config, text_of(returned))
    error = caught.value

    assert "model configuration is not provided for model 'm'" == error.message
    assert ("create", "NOT_FOUND") == (error.stage, error.code)
    assert data_type in error.advice


MISSING = "model configuration is not provided for model 'm'"
ADVICE = "auto_complete_config may only set values that JSON has."
REFUSED = {
    "an unknown key": ({"foo": 1}, "NOT_FOUND", MISSING, None),
    "no object": ([], "NOT_FOUND", MISSING, None),
    "a low surrogate": (
        {"parameters": {"a\udc00": {}}},
        "NOT_FOUND",
        MISSING,
        None,
    ),
    "a high surrogate": (
        {"parameters": {"a\ud800": {}}},
        "INTERNAL",
        "Failed to parse auto-complete JSON.",
        ADVICE,
    ),
    "infinite": (
        {"max_batch_size": float("inf")},
        "INTERNAL",
        "Failed to accept document, invalid JSON.",
        ADVICE,
    ),
    "a number as a bool": (
        {"model_transaction_policy": {"decoupled": 1}},
        "INTERNAL",
        "auto_complete_config sets 'decoupled' to 1; expected a bool",
        "Triton ends when it reads this value. Set True or False.",
    ),
}


@pytest.mark.parametrize(
    ("tree", "code", "text", "advice"), REFUSED.values(), ids=REFUSED
)
def test_the_whole_document_is_read(
    tree: Any, code: str, text: str, advice: str | None
) -> None:
    """A fault in a key without effect is one, too."""
    with pytest.raises(ModelConfigError) as caught:
        complete(normal(), text_of(tree))
    error = caught.value

    assert (code, "create", text) == (error.code, error.stage, error.message)
    if advice is None:
        assert error.advice.startswith("auto_complete_config set an invalid value: ")
    else:
        assert advice == error.advice


@pytest.mark.parametrize(
    ("text", "expected"),
    [("True", True), ("true", True), ("False", False), (None, False), (True, True)],
)
def test_a_text_is_a_bool(text: object, expected: bool) -> None:
    """As in a configuration that a client sends."""
    policy = {"model_transaction_policy": {"decoupled": text}}

    assert expected is complete(normal(), text_of(policy)).decoupled


def test_a_first_scheduler_may_be_added() -> None:
    """One that is configured stays."""
    tree = {"sequence_batching": {}}
    batching = complete(normal("dynamic_batching { }"), text_of(tree))

    assert "sequence_batching" == complete(normal(), text_of(tree)).scheduling
    assert "dynamic_batching" == batching.scheduling


@pytest.mark.parametrize("tree", [None, [], {"name": "m"}])
def test_an_ignored_completion_must_name_the_file(tree: Any) -> None:
    """The text is Triton's."""
    with pytest.raises(ModelConfigError) as caught:
        check_ignored(text_of(tree))
    error = caught.value

    assert ("create", "INTERNAL", ADVICE) == (error.stage, error.code, error.advice)
    assert (
        "attempt to access non-existing object member 'default_model_filename'"
        == error.message
    )


def test_an_ignored_completion_may_name_the_file() -> None:
    """It is accepted, also without a name."""
    check_ignored(text_of({"default_model_filename": ""}))


@pytest.mark.parametrize("returned", [None, {}, 3])
def test_the_function_must_return_its_configuration(returned: Any) -> None:
    """None, a dict or a number is refused with Triton's text."""
    with pytest.raises(ModelConfigError) as caught:
        check_returned("m", returned)
    error = caught.value

    assert (
        "auto_complete_config function in model 'm' must return a valid "
        "pb.ModelConfig object." == error.message
    )
    assert ("create", "INTERNAL") == (error.stage, error.code)
    assert (
        "End auto_complete_config with: return auto_complete_model_config"
        == error.advice
    )


def test_a_returned_configuration_passes() -> None:
    """The object itself is returned."""
    returned = handed_out(normal())

    assert returned is check_returned("m", returned)
