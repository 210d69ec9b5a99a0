"""Specification of pb_utils.ModelConfig, with Triton's texts."""

import json
from typing import Any

import pytest

from blsnb.pb_utils.config import ModelConfig

WHERE = "in auto-complete-config function for model 'M'"


def config(**fields: Any) -> ModelConfig:
    base = {"name": "M", "max_batch_size": 0, "input": [], "output": []}
    return ModelConfig(json.dumps(base | fields))


def declared(**fields: Any) -> dict[str, Any]:
    return {"name": "X", "data_type": "TYPE_FP32", "dims": [1]} | fields


def test_as_dict_returns_the_configuration_itself() -> None:
    """A change of the dict changes the configuration."""
    edited = config()
    edited.as_dict()["max_batch_size"] = 4

    assert 4 == edited.as_dict()["max_batch_size"]


def test_max_batch_size_may_only_grow() -> None:
    """A smaller size is refused, an equal or larger one is set."""
    edited = config(max_batch_size=4)

    assert edited.set_max_batch_size(8) is None
    assert 8 == edited.as_dict()["max_batch_size"]
    with pytest.raises(ValueError, match="model 'M'") as caught:
        edited.set_max_batch_size(2)
    assert (
        "configuration specified max_batch_size 8, but in auto-complete-config "
        "function for model 'M' specified max_batch_size 2" == str(caught.value)
    )


def test_dynamic_batching_is_added_once() -> None:
    """An existing block keeps its settings."""
    edited = config()
    edited.set_dynamic_batching()
    kept = config(dynamic_batching={"preserve_ordering": True})
    kept.set_dynamic_batching()

    assert {} == edited.as_dict()["dynamic_batching"]
    assert {"preserve_ordering": True} == kept.as_dict()["dynamic_batching"]


@pytest.mark.parametrize("scheduler", ["sequence_batching", "ensemble_scheduling"])
def test_another_scheduler_excludes_dynamic_batching(scheduler: str) -> None:
    """The error names the configured scheduler."""
    with pytest.raises(ValueError, match="model 'M'") as caught:
        config(**{scheduler: {}}).set_dynamic_batching()

    assert (
        f"Configuration specified scheduling_choice as '{scheduler}', but "
        "auto-complete-config function for model 'M' tries to set scheduling_choice "
        "as 'dynamic_batching'" == str(caught.value)
    )


def test_new_tensors_are_appended_as_given() -> None:
    """The dict itself is appended, without further keys."""
    edited = config()
    edited.add_input(declared(optional=True))
    edited.add_output(declared(name="Y"))

    assert [declared(optional=True)] == edited.as_dict()["input"]
    assert [declared(name="Y")] == edited.as_dict()["output"]


def test_a_declaration_says_what_a_configured_tensor_leaves_open() -> None:
    """That includes whether it is optional."""
    edited = config(input=[declared(dims=[])])
    edited.add_input(declared(dims=[2], optional=True))

    assert [declared(dims=[2], optional=True)] == edited.as_dict()["input"]


def test_incomplete_declarations_are_completed() -> None:
    """Missing type and dims come from the model; other keys stay."""
    edited = config(
        input=[{"name": "X", "data_type": "TYPE_INVALID", "dims": [], "format": "F"}]
    )
    edited.add_input(declared())
    edited.add_input(declared())

    assert [declared(format="F")] == edited.as_dict()["input"]


@pytest.mark.parametrize(
    ("direction", "tensor", "text"),
    [
        (
            "input",
            declared(shape=1),
            f"input 'X' {WHERE} contains property other than 'name', 'data_type', "
            "'dims' and 'optional'.",
        ),
        (
            "output",
            declared(optional=True),
            f"output 'X' {WHERE} contains property other than 'name', 'data_type' "
            "and 'dims'.",
        ),
        ("input", {"dims": [1]}, f"input {WHERE} is missing 'name' property."),
        ("output", {}, f"output {WHERE} is missing 'name' property."),
        (
            "input",
            {"name": "X", "dims": [1]},
            f"input 'X' {WHERE} is missing 'data_type' property.",
        ),
        (
            "output",
            {"name": "X", "data_type": "TYPE_FP32"},
            f"output 'X' {WHERE} is missing 'dims' property.",
        ),
        (
            "input",
            declared(data_type="TYPE_STRING"),
            "unable to load model 'M', configuration expects datatype TYPE_FP32 for "
            "input 'X', model provides TYPE_STRING",
        ),
        (
            "output",
            declared(dims=[2]),
            "model 'M', tensor 'X': the model expects dims [2] but the model "
            "configuration specifies dims [1]",
        ),
        (
            "input",
            declared(optional=True),
            "model 'M', tensor 'X': the model expects optional True but the model "
            "configuration specifies optional False",
        ),
    ],
)
def test_wrong_tensors_are_refused(
    direction: str, tensor: dict[str, Any], text: str
) -> None:
    """Unknown, missing and contradicting properties have Triton's texts."""
    edited = config(input=[declared(optional=False)], output=[declared()])
    before = json.dumps(edited.as_dict())
    with pytest.raises(ValueError, match="model 'M'") as caught:
        getattr(edited, f"add_{direction}")(tensor)

    assert text == str(caught.value)
    assert before == json.dumps(edited.as_dict())


def test_an_unknown_property_without_name_is_a_key_error() -> None:
    """Triton looks up the name for its error text."""
    with pytest.raises(KeyError, match="name"):
        config().add_input({"shape": [1]})


def test_transaction_policy_is_created_and_kept() -> None:
    """An empty dict adds an empty block; the same value may be set twice."""
    edited = config()
    edited.set_model_transaction_policy({})
    created = dict(edited.as_dict()["model_transaction_policy"])
    edited.set_model_transaction_policy({"decoupled": True})
    edited.set_model_transaction_policy({"decoupled": True})

    assert {} == created
    assert {"decoupled": True} == edited.as_dict()["model_transaction_policy"]


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (
            {"coupled": True},
            f"model transaction property {WHERE} contains property other than "
            "'decoupled'.",
        ),
        (
            {"decoupled": True},
            "trying to change decoupled property in auto-complete-config for model "
            "'M', which is already set to 'False'.",
        ),
    ],
)
def test_wrong_transaction_policies_are_refused(
    policy: dict[str, Any], text: str
) -> None:
    """An unknown key and a contradiction have Triton's texts."""
    with pytest.raises(ValueError, match="model 'M'") as caught:
        config(
            model_transaction_policy={"decoupled": False}
        ).set_model_transaction_policy(policy)

    assert text == str(caught.value)


def test_texts_are_concatenated_as_on_triton() -> None:
    """A value that is no text in a contradiction raises TypeError."""
    edited = config(input=[declared()])

    with pytest.raises(TypeError, match=r"can only concatenate str \(not \"int\"\)"):
        edited.add_input(declared(data_type=11))


def test_a_policy_is_a_dict() -> None:
    """A list of names has no keys."""
    with pytest.raises(AttributeError, match="'list' object has no attribute 'keys'"):
        config().set_model_transaction_policy(["decoupled"])
