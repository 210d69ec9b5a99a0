"""From a folder to a model that serves; a reload never loses the last good version."""

from __future__ import annotations

import re

import numpy as np
import pytest
import stage
from asserting import every
from cells import CONFIG, DOUBLE, LIFE, TRIPLE, cell, line_of

from blsnb import Server
from blsnb.engine.loading.loader import Origins
from blsnb.errors import InferenceError, ModelLoadError
from blsnb.parts.server_parts import parts_of
from blsnb.trace.events import Origin

X = {"X": np.array([1, 2], np.float32)}


def test_unload_finalizes_and_is_repeatable(server):
    """The folder stays, and a load restores the model."""
    server.define("model", cell("pass", methods=LIFE.format(1)), config=CONFIG)

    server.unload("model")
    server.unload("model")
    server.unload("never there")

    assert ["initialize 1", "finalize 1"] == stage.seen
    assert [
        {
            "name": "model",
            "version": "1",
            "state": "UNAVAILABLE",
            "reason": "unloaded",
        }
    ] == server.index()
    with pytest.raises(InferenceError) as caught:
        server.infer("model", X)
    assert "has no available versions" in caught.value.message
    assert "READY" == server.load("model").state


def test_the_name_in_a_configuration_is_checked_last(server):
    """As on Triton, which names the first mistake of the rest."""
    broken = (
        "name: 'other' sequence_batching { direct { minimum_slot_utilization: 2 } }"
    )

    with pytest.raises(ModelLoadError) as caught:
        server.define("model", DOUBLE, config=broken)

    assert "slot utilization must be in range (0.0, 1.0] for other" in str(caught.value)


def test_a_failing_finalize_is_no_failure(server, caplog):
    """It is only in the model's log, as on Triton."""
    methods = "def finalize(self):\n    1 / 0\n"
    source = cell("pass", methods=methods)
    server.define("model", source, config=CONFIG)

    with caplog.at_level("INFO", "blsnb.model"):
        server.unload("model")

    assert "UNAVAILABLE" == server.model("model").state
    [record] = caplog.records
    assert "ZeroDivisionError: division by zero\n\nAt:\n" in record.getMessage()
    place = f"model.py:{line_of(source, '1 / 0')}"
    assert ("INFO", place) == (record.triton_level, record.triton_place)


def test_a_finalize_that_fails_elsewhere_has_no_line(server, caplog):
    """The log names the model's file with line 0."""
    server.define("model", cell("pass", methods="finalize = divmod\n"), config=CONFIG)

    with caplog.at_level("INFO", "blsnb.model"):
        server.unload("model")

    [record] = caplog.records
    assert "model.py:0" == record.triton_place


def test_a_models_object_is_deleted_after_finalize(server):
    """Both are done when the unload returns."""
    methods = """
def finalize(self):
    stage.seen.append("finalize")

def __del__(self):
    stage.seen.append("__del__")

"""
    server.define("model", cell("pass", methods=methods), config=CONFIG)

    server.unload("model")

    assert ["finalize", "__del__"] == stage.seen


def test_bls_is_refused_in_finalize(server):
    """Triton allows it during ``execute`` only."""
    methods = """
def finalize(self):
    try:
        pb_utils.InferenceRequest(
            model_name="model", inputs=[], requested_output_names=[]
        ).exec()
    except pb_utils.TritonModelException as error:
        stage.seen.append(str(error))

"""
    server.define("model", cell("pass", methods=methods), config=CONFIG)
    server.unload("model")

    assert ["BLS is only supported during the 'execute' function."] == stage.seen


def test_the_newest_version_serves(server):
    """Without a policy it is the version with the largest number."""
    server.define("model", DOUBLE, config=CONFIG)
    status = server.define("model", TRIPLE, version=3)

    assert (3,) == status.versions
    assert [3, 6] == server.infer("model", X)["Y"].tolist()
    with pytest.raises(InferenceError) as caught:
        server.infer("model", X, version=1)
    assert "'model' version 1 is not at ready state" in caught.value.message


@pytest.mark.parametrize(
    ("policy", "versions"),
    [
        ("all {}", (1, 2, 3)),
        ("latest { num_versions: 2 }", (2, 3)),
        ("specific { versions: [1, 3] }", (1, 3)),
    ],
)
def test_the_version_policy_chooses(server, policy, versions):
    """Chosen versions serve by number; without a number the newest serves."""
    config = f"{CONFIG}\nversion_policy {{ {policy} }}"
    files: dict[str, str | None] = {"config.pbtxt": config}
    for number in (1, 2, 3):
        body = f"return [reply(x_of(request) * {number})]"
        files[f"{number}/model.py"] = cell(body)
    status = parts_of(server).models.change("model", files)

    assert versions == status.versions
    assert [[float(n), 2.0 * n] for n in versions] == [
        server.infer("model", X, version=n)["Y"].tolist() for n in versions
    ]
    assert [3, 6] == server.infer("model", X)["Y"].tolist()


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ("", ["model_0"]),
        ("instance_group { kind: KIND_CPU }", ["model_0_0"]),
        ("instance_group { count: 2 kind: KIND_CPU }", ["model_0_0", "model_0_1"]),
        (
            'instance_group { name: "a" count: 2 kind: KIND_CPU }\n'
            "instance_group { kind: KIND_CPU }",
            ["a_0", "a_1", "model_1_0"],
        ),
    ],
)
def test_instances_have_tritons_names(server, groups, names):
    """The names are in the order of the groups."""
    methods = (
        "def initialize(self, args):\n"
        '    stage.seen.append(args["model_instance_name"])\n\n'
    )
    source = cell("pass", methods=methods)
    server.define("model", source, config=f"{CONFIG}\n{groups}")

    assert names == stage.seen


def test_initialize_receives_seven_strings(server):
    """They include names, folder, version, and the configuration as JSON."""
    methods = "def initialize(self, args):\n    stage.seen.append(args)\n\n"
    server.define("model", cell("pass", methods=methods), config=CONFIG)

    (args,) = stage.seen
    assert every(type(each) is str for pair in args.items() for each in pair)
    assert '"name":"X"' in args.pop("model_config")
    assert {
        "model_instance_kind": "CPU",
        "model_instance_name": "model_0",
        "model_instance_device_id": "0",
        "model_repository": str(parts_of(server).repository.private_root / "model"),
        "model_version": "1",
        "model_name": "model",
    } == args


def test_a_model_without_configuration_completes_its_own(server):
    """``auto_complete_config`` is called on the class, with separate modules."""
    methods = """
count = 0

@staticmethod
def auto_complete_config(config):
    TritonPythonModel.count += 1
    tensor = {"data_type": "TYPE_FP32", "dims": [-1]}
    config.add_input({"name": "X", **tensor})
    config.add_output({"name": "Y", **tensor})
    config.set_max_batch_size(0)
    return config

def initialize(self, args):
    stage.seen.append(self.count)

"""
    source = cell("return [reply(x_of(request) * 2)]", methods=methods)
    server.define("model", source)

    assert [2, 4] == server.infer("model", X)["Y"].tolist()
    assert [0] == stage.seen


def test_a_model_without_execute_is_ready_and_fails(server):
    """It loads as on Triton, and each request reports the missing method."""
    server.define("model", "class TritonPythonModel: ...\n", config=CONFIG)

    with pytest.raises(InferenceError, match=r"does not implement `execute` method\.$"):
        server.infer("model", X)


def test_a_model_without_versions_has_no_row_in_the_index(server):
    """Before its first load it has a row with its name alone, as on Triton."""
    folder = parts_of(server).repository.private_root / "m"
    folder.mkdir()
    (folder / "config.pbtxt").write_text('backend: "python"')
    assert [{"name": "m"}] == server.index()

    with pytest.raises(ModelLoadError, match="at least one version must be available"):
        server.load("m")
    assert [] == server.index()


def test_a_version_policy_that_selects_nothing_is_explained(server):
    """The file is there, so that the advice is not to write one."""
    policy = f"{CONFIG} version_policy {{ specific {{ versions: 3 }} }}"

    with pytest.raises(ModelLoadError, match="at least one version") as caught:
        server.define("m", DOUBLE, config=policy)
    expected = "version_policy selects none of the versions in the folder: 1."
    assert expected == caught.value.advice


def test_a_missing_version_folder_of_an_ensemble_has_advice(server):
    """Git does not keep empty folders, so a cloned ensemble lacks it."""
    folder = parts_of(server).repository.private_root / "chain"
    folder.mkdir()
    (folder / "config.pbtxt").write_text("""
platform: "ensemble"
input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
ensemble_scheduling { step { model_name: "m" model_version: -1
  input_map { key: "X" value: "X" } output_map { key: "Y" value: "Y" } } }
""")
    server.define("m", DOUBLE, config=CONFIG)

    with pytest.raises(ModelLoadError, match="at least one version") as caught:
        server.load("chain")
    assert "mkdir chain/1" in caught.value.advice


def test_one_failing_version_fails_the_load(tmp_path):
    """The text has each failure, and the index the state of each version."""
    for number, source in ((1, "1 / 0"), (2, DOUBLE), (3, "boom")):
        folder = tmp_path / "many" / str(number)
        folder.mkdir(parents=True)
        (folder / "model.py").write_text(source)
    (tmp_path / "many" / "config.pbtxt").write_text(
        CONFIG + "version_policy { all { } }"
    )
    with Server(model_repository=tmp_path) as server:
        with pytest.raises(ModelLoadError) as raised:
            server.load("many")
        rows = [(row["version"], row["reason"]) for row in server.index()]

    first, second = raised.value.message.split("version 3 is at")
    assert first.startswith("load failed for model 'many': version 1 is at UNAVAILABLE")
    assert "NameError" in second
    assert second.endswith(";\n")
    assert ["Internal: ZeroDivisionErr", "unloaded", "Internal: NameError: name"] == [
        reason[:25] for _, reason in rows
    ]


COMPLETES = """
@staticmethod
def auto_complete_config(config):
    config.add_input({"name": "Z", "data_type": "FP32", "dims": [1]})
    return config

"""


def test_an_invalid_completion_fails_only_without_a_configuration(server):
    """Otherwise it is dropped silently, as on Triton."""
    source = cell("return [reply(x_of(request))]", methods=COMPLETES)
    server.define("model", source, config=CONFIG)

    assert ["X"] == [each["name"] for each in server.config("model")["input"]]
    with pytest.raises(ModelLoadError, match="Not found: model configuration is not"):
        server.define("bare", source)


BROKEN_COMPLETIONS = {
    "no value of JSON": ("config.as_dict()['x'] = {1}", "set is not JSON serializable"),
    "a negative batch size": (
        "config.as_dict()['max_batch_size'] = -1",
        "Invalid argument: 'max_batch_size' must be non-negative value for model",
    ),
    "no object": ("config._model_config = None", "'default_model_filename'"),
}


@pytest.mark.parametrize(
    ("code", "text"), BROKEN_COMPLETIONS.values(), ids=BROKEN_COMPLETIONS
)
def test_a_broken_completion_fails_with_a_configuration_too(server, code, text):
    """The client receives the reason."""
    hook = f"@staticmethod\ndef auto_complete_config(config):\n    {code}"
    source = cell("return []", methods=f"{hook}\n    return config\n")
    with pytest.raises(ModelLoadError) as caught:
        server.define("model", source, config=CONFIG)

    assert text in caught.value.message


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (
            "other.py",
            r"Internal: Python model file not found in '/[^']*/m/1/other\.py'",
        ),
        (
            "model.txt",
            r"Internal: Model name must end with '\.py'\. Model name is "
            r'"model\.txt"\.',
        ),
    ],
)
def test_a_model_file_is_there_and_has_the_suffix_of_python(server, file, reason):
    """It is not imported otherwise."""
    config = f'{CONFIG} backend: "python" default_model_filename: "{file}"'
    with pytest.raises(ModelLoadError) as caught:
        server.define("m", DOUBLE, config=config, files={"model.txt": DOUBLE})

    assert re.fullmatch(reason, caught.value.reason)


def test_the_cells_of_the_latest_500_sources_are_known():
    """A source that is defined again is the latest."""
    origins = Origins()
    for number in (*range(500), 0, 500):
        origins[str(number)] = Origin("cell", number)

    assert (500, False, True) == (len(origins), "1" in origins, "0" in origins)
