"""Invalid configurations are refused at Triton's stage and with its text."""

from pathlib import Path
from typing import Any

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.model.rules.instances import check_count
from blsnb.model.rules.validate import (
    validate_create,
    validate_instances,
    validate_poll,
)

from ..accepted import ACCEPTED
from ..refusals import CREATE, PLAIN, POLL, Refusal


def normal(text: str, gpus: int = 0) -> ModelConfig:
    return normalise(parse_pbtxt(text), model_name="m", gpu_count=gpus)


def rows(refusals: tuple[Refusal, ...]) -> pytest.MarkDecorator:
    names = [refusal.row for refusal in refusals]
    return pytest.mark.parametrize("refusal", refusals, ids=names)


@rows(POLL)
def test_refused_at_the_poll_stage(refusal: Refusal) -> None:
    """The reason is the one in the log of a real server."""
    with pytest.raises(ModelConfigError) as caught:
        validate_poll(normal(refusal.pbtxt))
    error = caught.value

    assert (refusal.reason, "poll", "INVALID_ARG") == (
        error.message,
        error.stage,
        error.code,
    )


@rows(CREATE)
def test_refused_at_the_create_stage(refusal: Refusal) -> None:
    """They pass the poll stage; the reason is that of the load request's error."""
    config = normal(refusal.pbtxt)
    validate_poll(config)
    with pytest.raises(ModelConfigError) as caught:
        validate_create(config)
    error = caught.value

    assert (refusal.reason, "create", "INVALID_ARG") == (
        error.message,
        error.stage,
        error.code,
    )


@pytest.mark.parametrize("case", ACCEPTED)
def test_configurations_that_triton_loads_are_accepted(case: str) -> None:
    """Duplicate names, unknown enumerators, other platforms: both stages pass."""
    config = normal(ACCEPTED[case])
    validate_poll(config)

    assert validate_create(config) is None


def test_a_missing_label_file_is_an_internal_error(tmp_path: Path) -> None:
    """Label files are in the model's folder, if it is known."""
    config = normal(
        "output { name: 'Y' data_type: TYPE_FP32 dims: 1 label_filename: 'l.txt' }"
    )
    with pytest.raises(ModelConfigError) as caught:
        validate_create(config, model_dir=tmp_path)

    assert (
        f"failed to open text file for read {tmp_path}/l.txt: No such file or directory"
        == caught.value.message
    )
    assert ("create", "INTERNAL") == (caught.value.stage, caught.value.code)
    (tmp_path / "l.txt").write_text("cat\n")
    assert validate_create(config, model_dir=tmp_path) is None


def test_gpus_that_exist_are_accepted_and_listed() -> None:
    """Of two GPUs a third is refused; the text lists both."""
    validate_create(
        normal(f"{PLAIN} instance_group {{ kind: KIND_GPU }}", 2), gpu_count=2
    )
    with pytest.raises(ModelConfigError, match=r"gpu id 2\..* are: 0, 1$"):
        validate_create(
            normal(f"{PLAIN} instance_group {{ kind: KIND_GPU gpus: 2 }}", 2),
            gpu_count=2,
        )


def test_instances_are_refused_before_the_model_completes_its_configuration() -> None:
    """Tensors may still be completed; groups and backend may not."""
    config = normal("input { name: 'X' } instance_group { kind: KIND_CPU gpus: 0 }")
    with pytest.raises(ModelConfigError, match="m_0 of model m has kind KIND_CPU but"):
        validate_instances(config)

    assert validate_instances(normal("input { name: 'X' }")) is None


def test_instances_of_a_passive_group_are_not_made() -> None:
    """They would receive no requests; the other groups keep their names."""
    config = normal(
        f"{PLAIN} instance_group {{ passive: true }} instance_group {{ count: 2 }}"
    )

    assert ["m_1_0", "m_1_1"] == [each.name for each in config.instance_names()]


def test_a_model_with_passive_groups_only_is_refused() -> None:
    """Triton loads it, and ends with its first request."""
    config = normal(f"{PLAIN} instance_group {{ passive: true }}")
    with pytest.raises(ModelConfigError) as caught:
        validate_instances(config)

    assert "all instance groups of model m are passive" == caught.value.message
    assert (
        "Triton loads the model, and ends with its first request. "
        "Remove passive from a group."
    ) == caught.value.advice


def refused_instances(text: str) -> ModelConfigError:
    """Return the error of a model with too many instances or slots."""
    message: Any = parse_pbtxt(f"name: 'm' {text}").message
    with pytest.raises(ModelConfigError) as caught:
        check_count(message)
    return caught.value


def test_a_process_holds_a_limited_number_of_instances() -> None:
    """Those of all groups and GPUs count."""
    most: Any = parse_pbtxt("instance_group { count: 1024 }").message
    check_count(most)
    error = refused_instances(
        "instance_group { count: 512 gpus: [0, 1] } instance_group {}"
    )

    assert (
        "model m asks for 1,025 instances, more than the "
        "1,024 that blsnb runs in one process"
    ) == error.message
    assert (
        "Lower the count of instance_group; Triton starts a process for each one."
    ) == error.advice


def test_a_process_holds_a_limited_number_of_sequences() -> None:
    """Each instance has slots for as many as its strategy provides."""
    oldest = "sequence_batching {{ oldest {{ max_candidate_sequences: {} }} }}"
    most: Any = parse_pbtxt(oldest.format(131_072)).message
    check_count(most)
    error = refused_instances(oldest.format(131_073))

    assert (
        "model m asks for slots for 131,073 sequences at a time, more than "
        "the 131,072 that blsnb provides"
    ) == error.message
    assert (
        "Lower max_candidate_sequences (strategy oldest) or max_batch_size "
        "(strategy direct)."
    ) == error.advice


@pytest.mark.parametrize(
    ("text", "reason", "advice"),
    [
        (
            "metric_tags { key: '__a' value: 'b' }",
            "metric_tags has the key '__a', which is not valid in the name of a "
            "Prometheus label; expected letters, digits and underscores, without an "
            "underscore at the beginning",
            "Triton ends when it loads the model. Rename the key.",
        ),
        (
            "parameters { key: 'FORCE_CPU_ONLY_INPUT_TENSORS' "
            "value { string_value: 'maybe' } }",
            "Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: maybe'",
            'Write "yes", or "no" for inputs that may be on a device.',
        ),
    ],
)
def test_invalid_keys_and_values_are_refused_with_advice(
    text: str, reason: str, advice: str
) -> None:
    """At the create stage, as the model would be loaded."""
    with pytest.raises(ModelConfigError) as caught:
        validate_create(normal(PLAIN + text))
    error = caught.value

    assert (reason, "create", advice) == (error.message, error.stage, error.advice)
