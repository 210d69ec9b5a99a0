"""Default values are those of Triton."""

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, parse_pbtxt
from blsnb.model.normalization import check_directory_name, normalise


def normal(text: str, name: str = "m", py: bool = True, gpus: int = 0) -> ModelConfig:
    entries = {"model.py": False} if py else {}
    return normalise(
        parse_pbtxt(text), model_name=name, entries=entries, gpu_count=gpus
    )


@pytest.mark.parametrize("written", ["other", "m "])
def test_the_name_must_be_that_of_the_folder(written: str) -> None:
    """A different name, or a trailing space, is refused."""
    with pytest.raises(ModelConfigError) as caught:
        check_directory_name(normal(f"name: '{written}'"), "m")

    assert (
        f"unexpected directory name 'm' for model '{written}', directory name must "
        "equal model name" == caught.value.message
    )
    assert 'Write name: "m", or leave name out.' == caught.value.advice


def test_a_configured_value_is_kept() -> None:
    """Defaults are for fields that are missing."""
    text = """
    name: 'n'
    max_batch_size: 8
    version_policy { latest { num_versions: 3 } }
    optimization { input_pinned_memory { enable: false } }
    instance_group { name: 'g' count: 3 kind: KIND_GPU gpus: 1 }
    """
    dynamic = normal(f"{text} dynamic_batching {{ preferred_batch_size: 2 }}", gpus=2)
    oldest = "max_sequence_idle_microseconds: 5 oldest { preferred_batch_size: 2 }"
    sequences = normal(f"{text} sequence_batching {{ {oldest} }}").message
    message = dynamic.message
    [group] = message.instance_group

    assert ("n", 3) == (message.name, message.version_policy.latest.num_versions)
    assert (False, True) == (
        message.optimization.input_pinned_memory.enable,
        message.optimization.output_pinned_memory.enable,
    )
    assert ("g", 3, [1]) == (group.name, group.count, group.gpus)
    assert [2] == message.dynamic_batching.preferred_batch_size
    assert [2] == sequences.sequence_batching.oldest.preferred_batch_size
    assert 5 == sequences.sequence_batching.max_sequence_idle_microseconds


def test_an_unnamed_group_is_numbered() -> None:
    """The group that a configuration without groups gets has the model's name."""
    several = normal("instance_group [{}, { name: 'g' }, {}]").message

    assert ["m_0", "g", "m_2"] == [group.name for group in several.instance_group]
    assert ["m"] == [group.name for group in normal("").message.instance_group]


def test_batchers_prefer_full_batches() -> None:
    """An empty list of preferred sizes becomes the maximum batch size, if any."""
    batching = normal("max_batch_size: 8 dynamic_batching {}").message
    oldest = normal("max_batch_size: 4 sequence_batching { oldest {} }").message

    assert [8] == batching.dynamic_batching.preferred_batch_size
    assert (
        []
        == normal("dynamic_batching {}").message.dynamic_batching.preferred_batch_size
    )
    assert [4] == oldest.sequence_batching.oldest.preferred_batch_size
    assert 1_000_000 == oldest.sequence_batching.max_sequence_idle_microseconds


@pytest.mark.parametrize(
    ("group", "kind", "devices"),
    [
        ("", "GPU", [0, 1]),
        ("gpus: 1", "GPU", [1]),
        ("gpus: 7", "CPU", [0]),
        ("kind: KIND_CPU", "CPU", [0]),
    ],
)
def test_an_automatic_group_uses_the_gpus_there_are(
    group: str, kind: str, devices: list[int]
) -> None:
    """KIND_AUTO uses all GPUs, or the CPU if a configured one is missing."""
    instances = normal(f"instance_group {{ {group} }}", gpus=2).instance_names()

    assert [kind] == sorted({instance.kind for instance in instances})
    assert devices == [instance.device_id for instance in instances]


@pytest.mark.parametrize(
    ("backend", "count"), [("python", 1), ("onnxruntime", 2), ("tensorflow", 2)]
)
def test_some_backends_have_two_instances_on_the_cpu(backend: str, count: int) -> None:
    """The default elsewhere is one."""
    for group, gpus, expected in [
        ("", 0, count),
        ("instance_group { kind: KIND_CPU }", 0, count),
        ("instance_group { count: 3 }", 0, 3),
        ("instance_group { count: 1 }", 0, 1),
        ("instance_group { kind: KIND_MODEL }", 0, 1),
        ("", 1, 1),
    ]:
        config = normal(f"backend: '{backend}' {group}", gpus=gpus)
        assert expected == len(config.instance_names())


def test_normalising_twice_changes_nothing() -> None:
    """A normalised configuration does not change."""
    once = normal("max_batch_size: 4 dynamic_batching {} instance_group [{}, {}]")

    assert once == normalise(once, model_name="m")


def test_an_ensemble_gets_neither_instances_nor_optimization() -> None:
    """Triton refuses both for ensembles; no backend is deduced."""
    config = normal(
        "platform: 'ensemble' ensemble_scheduling { step { model_name: 'c' } }"
    )
    message = config.message

    assert ("", "", []) == (
        config.backend,
        config.default_model_filename,
        config.instance_names(),
    )
    assert not message.HasField("optimization")
    assert 1 == message.version_policy.latest.num_versions
