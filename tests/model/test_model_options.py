"""ModelOptions become a configuration, and never contradict one silently."""

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, parse_pbtxt
from blsnb.model.model_options import ModelOptions, merge_options

TENSORS = (
    "name: 'm' input { name: 'X' data_type: TYPE_FP32 dims: [3, -1] } "
    "output { name: 'Y' data_type: TYPE_STRING dims: 1 }"
)


def test_all_options_make_one_configuration() -> None:
    """Each option sets a field of config.pbtxt."""
    options = ModelOptions(
        inputs=["X:FP32[3,-1]", "Z?:INT8[1]"],
        outputs=["Y:BYTES[1]"],
        max_batch_size=8,
        instances=2,
        kind="cpu",
        dynamic_batching=100,
        decoupled=True,
    )
    config = merge_options(parse_pbtxt("name: 'm'"), options)

    assert (
        parse_pbtxt(
            "name: 'm' max_batch_size: 8 "
            "input { name: 'X' data_type: TYPE_FP32 dims: [3, -1] } "
            "input { name: 'Z' data_type: TYPE_INT8 dims: 1 optional: true } "
            "output { name: 'Y' data_type: TYPE_STRING dims: 1 } "
            "instance_group { count: 2 kind: KIND_CPU } "
            "dynamic_batching { max_queue_delay_microseconds: 100 } "
            "model_transaction_policy { decoupled: true }"
        )
        == config
    )


def test_unset_options_change_nothing() -> None:
    """Other fields are left to auto_complete_config and to Triton's defaults."""
    assert ModelConfig() == merge_options(ModelConfig(), ModelOptions())


def test_dynamic_batching_without_delay() -> None:
    """The option without a value enables the batcher."""
    config = merge_options(ModelConfig(), ModelOptions(dynamic_batching=True))

    assert parse_pbtxt("dynamic_batching {}") == config


@pytest.mark.parametrize(
    "options",
    [
        ModelOptions(),
        ModelOptions(inputs=["X:TYPE_FP32[3,-1]"], outputs=["Y:STRING[1]"]),
        ModelOptions(max_batch_size=8),
        ModelOptions(instances=2),
        ModelOptions(kind="CPU"),
        ModelOptions(dynamic_batching=5),
        ModelOptions(dynamic_batching=True),
        ModelOptions(dynamic_batching=False),
        ModelOptions(decoupled=True),
    ],
)
def test_options_that_agree_change_nothing(options: ModelOptions) -> None:
    """An option may repeat the configuration."""
    config = parse_pbtxt(
        f"{TENSORS} max_batch_size: 8 instance_group {{ count: 2 kind: KIND_CPU }} "
        "dynamic_batching { max_queue_delay_microseconds: 5 } "
        "model_transaction_policy { decoupled: true }"
    )

    assert config == merge_options(config, options)


def test_options_set_missing_fields() -> None:
    """Fields that the configuration omits come from the options."""
    config = merge_options(
        parse_pbtxt("instance_group { count: 2 }"),
        ModelOptions(inputs=["X:FP32[1]"], instances=2, dynamic_batching=5),
    )

    assert (
        parse_pbtxt(
            "instance_group { count: 2 } "
            "input { name: 'X' data_type: TYPE_FP32 dims: 1 } "
            "dynamic_batching { max_queue_delay_microseconds: 5 }"
        )
        == config
    )


@pytest.mark.parametrize(
    ("text", "options", "both"),
    [
        (
            TENSORS,
            ModelOptions(inputs=["X:FP32[4]"]),
            ("--input X:FP32[4]", "X:FP32[3,-1]"),
        ),
        (TENSORS, ModelOptions(inputs=["Q:FP32[4]"]), ("--input Q:FP32[4]", "only X")),
        (
            TENSORS,
            ModelOptions(outputs=["Y:FP32[1]"]),
            ("--output Y:FP32[1]", "Y:BYTES[1]"),
        ),
        (
            "max_batch_size: 4",
            ModelOptions(max_batch_size=8),
            ("--max-batch-size 8", "max_batch_size: 4"),
        ),
        (
            "instance_group { count: 2 kind: KIND_CPU }",
            ModelOptions(instances=3),
            ("--instances 3", "instance_group [{count: 2 kind: KIND_CPU}]"),
        ),
        (
            "instance_group { count: 2 kind: KIND_CPU }",
            ModelOptions(kind="gpu"),
            ("--kind gpu", "instance_group [{count: 2 kind: KIND_CPU}]"),
        ),
        (
            "instance_group [{}, { count: 2 }]",
            ModelOptions(instances=1),
            (
                "--instances 1",
                "instance_group [{count: 0 kind: KIND_AUTO}, "
                "{count: 2 kind: KIND_AUTO}]",
            ),
        ),
        (
            "dynamic_batching { max_queue_delay_microseconds: 5 }",
            ModelOptions(dynamic_batching=6),
            ("--dynamic-batching 6", "max_queue_delay_microseconds: 5"),
        ),
        (
            "sequence_batching {}",
            ModelOptions(dynamic_batching=True),
            ("--dynamic-batching", "sequence_batching { … }"),
        ),
        (
            "model_transaction_policy {}",
            ModelOptions(decoupled=True),
            ("--decoupled", "model_transaction_policy { decoupled: false }"),
        ),
    ],
)
def test_a_contradiction_is_refused(
    text: str, options: ModelOptions, both: tuple[str, str]
) -> None:
    """The error contains the option and the configured value."""
    with pytest.raises(ModelConfigError) as caught:
        merge_options(parse_pbtxt(text), options)

    assert (
        f"the option {both[0]} contradicts the configuration, which has {both[1]}"
    ) == caught.value.message
    assert "Change one of them, or omit the option." == caught.value.advice


@pytest.mark.parametrize(
    "options",
    [
        ModelOptions(max_batch_size=2**31 - 1),
        ModelOptions(instances=1),
        ModelOptions(instances=2**31 - 1),
        ModelOptions(dynamic_batching=0),
        ModelOptions(dynamic_batching=2**64 - 1),
    ],
)
def test_the_limits_of_an_option_are_valid(options: ModelOptions) -> None:
    """They are those of the fields."""
    message = merge_options(ModelConfig(), options).message

    assert (options.max_batch_size or 0) == message.max_batch_size
    assert [options.instances or 1][: len(message.instance_group)] == [
        group.count for group in message.instance_group
    ]
    delay_us = message.dynamic_batching.max_queue_delay_microseconds
    assert (options.dynamic_batching or 0) == delay_us


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ModelOptions(max_batch_size=-1),
            "--max-batch-size -1 is not valid; expected 0 (no batching) to "
            "2,147,483,647",
        ),
        (
            ModelOptions(max_batch_size=2**31),
            "--max-batch-size 2147483648 is not valid; expected 0 (no batching) to "
            "2,147,483,647",
        ),
        (
            ModelOptions(instances=0),
            "--instances 0 is not valid; expected 1 to 2,147,483,647",
        ),
        (
            ModelOptions(instances=2**31),
            "--instances 2147483648 is not valid; expected 1 to 2,147,483,647",
        ),
        (
            ModelOptions(kind="tpu"),
            "--kind tpu is not valid; expected one of cpu, gpu, model, auto",
        ),
        (
            ModelOptions(dynamic_batching=-1),
            "--dynamic-batching -1 is not valid; "
            "expected 0 to 18,446,744,073,709,551,615 microseconds",
        ),
        (
            ModelOptions(dynamic_batching=2**64),
            f"--dynamic-batching {2**64} is not valid; "
            "expected 0 to 18,446,744,073,709,551,615 microseconds",
        ),
        (
            ModelOptions(outputs=["Y?:FP32[1]"]),
            "--output Y?:FP32[1]: only an input can be optional",
        ),
        (
            ModelOptions(inputs=["X:FP32[1]", "X:FP32[1]"]),
            "tensor 'X' is specified twice",
        ),
    ],
)
def test_an_invalid_option_is_refused(options: ModelOptions, reason: str) -> None:
    """The error contains the option, its value and the expected values."""
    with pytest.raises(ModelConfigError) as caught:
        merge_options(parse_pbtxt(""), options)

    assert reason == caught.value.message


@pytest.mark.parametrize(
    "options",
    [
        ModelOptions(max_batch_size=2**31 - 1),
        ModelOptions(instances=2**31 - 1),
        ModelOptions(dynamic_batching=2**64 - 1),
    ],
)
def test_the_largest_values_are_valid(options: ModelOptions) -> None:
    """They are the largest that a field of config.pbtxt holds."""
    assert ModelConfig() != merge_options(ModelConfig(), options)
