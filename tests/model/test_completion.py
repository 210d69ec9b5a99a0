"""Effects of auto_complete_config on a configuration."""

from typing import Any

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.completion import check_returned, complete
from blsnb.model.config import ModelConfig, TensorSpec, parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.pb_utils import config as pb_utils_config


def normal(text: str = "") -> ModelConfig:
    return normalise(parse_pbtxt(text), model_name="m")


def handed_out(config: ModelConfig) -> pb_utils_config.ModelConfig:
    return pb_utils_config.ModelConfig(config.to_json())


def test_inputs_outputs_and_batching_have_an_effect() -> None:
    """The configuration contains the values of the setters, normalised."""
    config = normal()
    returned = handed_out(config)
    returned.set_max_batch_size(8)
    returned.set_dynamic_batching()
    returned.set_model_transaction_policy({"decoupled": True})
    returned.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [-1]})
    returned.add_output({"name": "Y", "data_type": "TYPE_STRING", "dims": [1]})
    completed = complete(config, returned)

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
        nonsense=1,
    )
    completed = complete(config, returned)

    assert ("m", 4, {}) == (
        completed.name,
        completed.max_batch_size,
        completed.parameters,
    )
    assert config.instance_groups == completed.instance_groups


def test_an_unchanged_configuration_is_kept() -> None:
    """Returning the argument completes nothing."""
    config = normal(
        "max_batch_size: 8 input { name: 'X' data_type: TYPE_FP32 dims: 1 "
        "reshape { } format: FORMAT_NONE } dynamic_batching { "
        "max_queue_delay_microseconds: 5 } parameters { key: 'a' value { } }"
    )

    assert config == complete(config, handed_out(config))
    assert config == complete(config, {})


@pytest.mark.parametrize("data_type", ["FP32", "TYPE_FOO"])
def test_an_unknown_data_type_fails_the_load(data_type: str) -> None:
    """The text is Triton's; the advice names the value."""
    config = normal()
    returned = handed_out(config)
    returned.add_input({"name": "X", "data_type": data_type, "dims": [1]})
    with pytest.raises(ModelConfigError) as caught:
        complete(config, returned)
    error = caught.value

    assert "model configuration is not provided for model 'm'" == error.message
    assert ("create", "NOT_FOUND") == (error.stage, error.code)
    assert data_type in error.advice


def test_values_that_json_does_not_have_fail_the_load() -> None:
    """The reason is Python's own text."""
    with pytest.raises(ModelConfigError, match=r"TypeError: .* not JSON serializable"):
        complete(normal(), {"max_batch_size": {1, 2}})


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


def test_a_returned_configuration_passes() -> None:
    """The object itself is returned."""
    returned = handed_out(normal())

    assert returned is check_returned("m", returned)
