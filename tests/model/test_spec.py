"""Options become a configuration, and never contradict one silently."""

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_pbtxt
from blsnb.model.spec import Options, config_from_options, merge_options

TENSORS = (
    "name: 'm' input { name: 'X' data_type: TYPE_FP32 dims: [3, -1] } "
    "output { name: 'Y' data_type: TYPE_STRING dims: 1 }"
)


def test_all_options_make_one_configuration() -> None:
    """Each option is the field that a config.pbtxt would have."""
    config = config_from_options(
        "m",
        inputs=["X:FP32[3,-1]", "Z?:INT8[1]"],
        outputs=["Y:BYTES[1]"],
        max_batch_size=8,
        instances=2,
        kind="cpu",
        dynamic_batching=100,
        decoupled=True,
    )

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


def test_no_options_make_a_name_only() -> None:
    """What is not said is left to auto_complete_config and to Triton's defaults."""
    assert parse_pbtxt("name: 'm'") == config_from_options("m")
    assert not Options().given
    assert Options(decoupled=True).given


def test_dynamic_batching_without_delay() -> None:
    """The option alone switches the batcher on."""
    config = config_from_options("m", dynamic_batching=True)

    assert parse_pbtxt("name: 'm' dynamic_batching {}") == config


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(inputs=["X:TYPE_FP32[3,-1]"], outputs=["Y:STRING[1]"]),
        Options(max_batch_size=0),
    ],
)
def test_options_that_agree_change_nothing(options: Options) -> None:
    """Saying the same twice is no error."""
    config = parse_pbtxt(TENSORS)

    assert config == merge_options(config, options)


def test_options_fill_what_the_configuration_leaves_out() -> None:
    """Fields absent from the configuration come from the options."""
    config = merge_options(
        parse_pbtxt("instance_group { count: 2 }"),
        Options(inputs=["X:FP32[1]"], instances=2, dynamic_batching=5),
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
        (TENSORS, Options(inputs=["X:FP32[4]"]), ("X:FP32[4]", "X:FP32[3,-1]")),
        (TENSORS, Options(inputs=["Q:FP32[4]"]), ("--input Q:FP32[4]", "only X")),
        (TENSORS, Options(outputs=["Y:FP32[1]"]), ("Y:FP32[1]", "Y:BYTES[1]")),
        (
            "max_batch_size: 4",
            Options(max_batch_size=8),
            ("--max-batch-size 8", "max_batch_size: 4"),
        ),
        (
            "instance_group { count: 2 kind: KIND_CPU }",
            Options(instances=3),
            ("--instances 3", "instance_group [{count: 2 kind: KIND_CPU}]"),
        ),
        (
            "instance_group { count: 2 kind: KIND_CPU }",
            Options(kind="gpu"),
            ("--kind gpu", "KIND_CPU"),
        ),
        (
            "instance_group [{}, {}]",
            Options(instances=1),
            ("--instances 1", "kind: KIND_AUTO}, {"),
        ),
        (
            "dynamic_batching { max_queue_delay_microseconds: 5 }",
            Options(dynamic_batching=6),
            ("--dynamic-batching 6", "max_queue_delay_microseconds: 5"),
        ),
        (
            "sequence_batching {}",
            Options(dynamic_batching=True),
            ("--dynamic-batching,", "sequence_batching"),
        ),
        (
            "model_transaction_policy {}",
            Options(decoupled=True),
            ("--decoupled", "decoupled: false"),
        ),
    ],
)
def test_a_disagreement_shows_both(
    text: str, options: Options, both: tuple[str, str]
) -> None:
    """The option and what the configuration has stand in one message."""
    with pytest.raises(ModelConfigError, match="disagree") as caught:
        merge_options(parse_pbtxt(text), options)

    assert [True, True] == [part in caught.value.message for part in both]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (Options(max_batch_size=-1), "--max-batch-size -1: the size is at least 0"),
        (Options(instances=0), "--instances 0: a model has at least one instance"),
        (Options(kind="tpu"), "--kind tpu: kinds are cpu, gpu, model, auto"),
        (Options(dynamic_batching=-1), "--dynamic-batching -1: a delay is at least 0"),
        (Options(outputs=["Y?:FP32[1]"]), "--output Y?:FP32[1]: only an input can be"),
        (Options(inputs=["X:FP32[1]", "X:FP32[1]"]), "tensor 'X' is given twice"),
    ],
)
def test_a_malformed_option_is_refused(options: Options, reason: str) -> None:
    """The message names the option, its value and what is allowed."""
    with pytest.raises(ModelConfigError) as caught:
        merge_options(parse_pbtxt(""), options)

    assert caught.value.message.startswith(reason)
