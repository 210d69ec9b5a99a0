"""Specification of how a cell becomes a model."""

import hashlib
from pathlib import Path

import pytest

import blsnb
from blsnb.errors import ModelConfigError, ModelLoadError, RepositoryError
from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.parts.server_parts import parts_of

from .models import DOUBLE, FLOW, OUTER, infer

SOURCE = DOUBLE.partition("\n")[2]
CONFIG = """\
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }  # kept to the letter
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""


def folder(name="double"):
    return parts_of(default.server()).repository.private(name).path


def state(name="double"):
    """Return all state that a refused cell must not change."""
    server = default.server()
    files = sorted(path for path in folder(name).rglob("*") if path.is_file())
    hashes = [(path, hashlib.sha256(path.read_bytes()).digest()) for path in files]
    answer = server.infer(name, {"X": [1.0]})["Y"].tolist()
    return server.index(), server.config(name), hashes, answer


def test_the_cell_is_the_model_file_to_the_letter(notebook):
    """Indentation in strings and text like templates are unchanged."""
    cell = DOUBLE + "TEXT = '''\n  two {spaces}\n'''\n"
    notebook.run(cell)

    expected = cell.partition("\n")[2]
    assert expected == (folder() / "1" / "model.py").read_text("utf-8")


def test_the_cell_does_not_run_in_the_notebook(notebook):
    """No name of the model appears in the notebook."""
    notebook.run(DOUBLE)

    assert "TritonPythonModel" not in notebook.shell.user_ns


def test_a_card_is_shown_and_nothing_else(notebook):
    """The card has name, version, state, inputs, outputs and load time."""
    ran = notebook.run(DOUBLE)

    [text] = ran.texts
    assert "double version 1 READY  X:FP32[-1] -> Y:FP32[-1]  from cell In[" in text
    assert ("", "", None) == (ran.stdout, ran.stderr, ran.value)


def test_quiet_shows_no_card(notebook):
    """--quiet suits notebooks that define many models."""
    ran = notebook.run(DOUBLE.replace(FLOW, f"{FLOW} --quiet"))

    assert [] == ran.outputs
    assert ["double"] == parts_of(default.server()).repository.names()


def test_options_are_the_configuration(notebook):
    """Each option sets its field of config.pbtxt."""
    options = f"{FLOW} --max-batch-size 8 --instances 2 --kind cpu --version 3"
    notebook.run(DOUBLE.replace(FLOW, options))

    config = default.server().config("double")
    group = config["instance_group"][0]
    assert (8, 2, "KIND_CPU") == (
        config["max_batch_size"],
        group["count"],
        group["kind"],
    )
    assert (folder() / "3" / "model.py").is_file()


def test_version_0_is_a_version(notebook):
    """As a folder of Triton's repository may have this name."""
    notebook.run(DOUBLE.replace(FLOW, f"{FLOW} --version 0"))

    assert (0,) == default.server().model("double").versions
    assert (folder() / "0" / "model.py").is_file()


def test_a_card_names_the_version_of_a_cell_that_does_not_serve(notebook):
    """Requests would be answered by another cell."""
    note = "version 1, the cell's, does not serve, but 2: see version_policy"
    newer = notebook.run(DOUBLE.replace(FLOW, f"{FLOW} --version 2"))
    older = notebook.run(DOUBLE)
    helper = notebook.run("%%triton_file double/1/helper.py\nK = 1\n")

    assert [False, True, True] == [
        note in ran.texts[0] for ran in (newer, older, helper)
    ]


def test_changed_options_replace_the_old_ones(notebook):
    """An option conflicts with the user's configuration, not with former options."""
    notebook.run(DOUBLE.replace(FLOW, f"{FLOW} --max-batch-size 8"))
    ran = notebook.run(DOUBLE.replace(FLOW, f"{FLOW} --max-batch-size 4"))

    assert ran.error is None
    assert 4 == default.server().config("double")["max_batch_size"]


def test_without_options_the_former_ones_are_gone(notebook):
    """The cell's line defines all options."""
    notebook.run(DOUBLE.replace(FLOW, f"{FLOW} --max-batch-size 8"))
    notebook.run(DOUBLE.replace(FLOW, ""))

    assert not (folder() / "config.pbtxt").exists()


def test_the_configuration_of_a_variable_is_kept_to_the_letter(notebook):
    """--config names a variable with the text."""
    notebook.shell.user_ns["pbtxt"] = CONFIG
    notebook.run(DOUBLE.replace(FLOW, "--config pbtxt"))

    assert CONFIG == (folder() / "config.pbtxt").read_text("utf-8")


def test_the_configuration_may_be_a_file(notebook, tmp_path):
    """--config names a path, or a variable with a path."""
    path = tmp_path / "my config.pbtxt"
    path.write_text(CONFIG)
    notebook.shell.user_ns["path"] = path
    for given in (f'"{path}"', "{path}", "path"):
        ran = notebook.run(DOUBLE.replace(FLOW, f"--config {given}"))

        assert (None, "") == (ran.error, ran.stderr)
        assert CONFIG == (folder() / "config.pbtxt").read_text("utf-8")


def test_the_comments_of_a_configuration_file_may_be_any_bytes(notebook, tmp_path):
    """As on Triton; they are kept."""
    text = CONFIG.encode() + b"# \xe9\n"
    (tmp_path / "latin.pbtxt").write_bytes(text)
    ran = notebook.run(DOUBLE.replace(FLOW, f"--config {tmp_path}/latin.pbtxt"))

    assert ran.error is None
    assert text == (folder() / "config.pbtxt").read_bytes()


def test_a_configuration_that_is_neither_is_refused(notebook):
    """The error says what was searched."""
    ran = notebook.run(DOUBLE.replace(FLOW, "--config nowhere"))

    assert "--config nowhere: there is no variable and no file" in ran.stderr


@pytest.mark.parametrize("first", ["model", "config"])
def test_an_option_and_a_configuration_that_disagree_are_an_error(notebook, first):
    """The error shows both; the former model still serves."""
    notebook.run(DOUBLE.replace(FLOW, ""))
    model = DOUBLE.replace(FLOW, "--max-batch-size 8")
    config = "%%triton_config double\n" + CONFIG + "max_batch_size: 4\n"
    order = [model, config] if first == "model" else [config, model]
    notebook.run(order[0])
    before = default.server().config("double")
    ran = notebook.run(order[1])

    assert isinstance(ran.error, ModelConfigError)
    assert "--max-batch-size 8" in str(ran.error)
    assert "max_batch_size: 4" in str(ran.error)
    assert before == default.server().config("double")


def test_options_add_to_a_configuration(notebook):
    """Fields that only one of them sets are merged."""
    notebook.run("%%triton_config double\n" + CONFIG)
    notebook.run(DOUBLE.replace(FLOW, "--instances 2"))
    notebook.run("%%triton_config double\n" + CONFIG + "max_batch_size: 4\n")

    config = default.server().config("double")
    assert (4, 2) == (config["max_batch_size"], config["instance_group"][0]["count"])


def test_a_configuration_cell_is_kept_to_the_letter(notebook):
    """Comments and spaces are unchanged."""
    notebook.run(DOUBLE)
    notebook.run("%%triton_config double\n" + CONFIG)

    # The model's options say the same, so nothing has to be added.
    assert CONFIG == (folder() / "config.pbtxt").read_text("utf-8")


def test_a_configuration_may_come_before_its_model(notebook):
    """It is kept, and the card names the missing file."""
    ran = notebook.run("%%triton_config double\n" + CONFIG)

    advice = "It is loaded once it has double/1/model.py (%%triton_model double)."
    assert advice in ran.texts[0]
    assert notebook.run(DOUBLE.replace(FLOW, "")).error is None


@pytest.mark.parametrize(
    "kind",
    ['platform: "tensorrt_plan"', 'platform: "pytorch_libtorch"', 'backend: "vllm"'],
)
def test_a_configuration_of_another_backend_needs_a_stand_in(notebook, kind):
    """The card has the command, which works as it stands; no model.py would help."""
    [shown] = notebook.run(f"%%triton_config detector\n{CONFIG}{kind}\n").texts

    command = "%triton standin detector --zeros"
    assert command in shown
    assert "model.py" not in shown
    assert command in notebook.run("%triton models").texts[0]
    assert notebook.run(command).error is None
    assert not default.server().infer("detector", {"X": [1.0]})["Y"].any()


def test_a_configuration_of_an_onnx_model_needs_its_file(notebook):
    """Its backend runs here, and the card names the file."""
    ran = notebook.run(f'%%triton_config net\n{CONFIG}backend: "onnxruntime"\n')

    assert "It is loaded once it has net/1/model.onnx." in ran.texts[0]


def test_the_card_of_a_complete_model_that_was_never_loaded_has_the_command(
    notebook, tmp_path
):
    """Nothing is missing in its folder."""
    notebook.run(DOUBLE)
    notebook.run(f"%triton export {tmp_path / 'models'}")
    with blsnb.Server(
        model_repository=tmp_path / "models", model_control_mode="explicit"
    ) as server:
        text = card.text(server.model("double"))

    assert "double not loaded\n%triton load double loads it" == text


def test_files_are_put_beside_the_model(notebook, tmp_path):
    """Files, renamed files, folders and paths with spaces are supported."""
    (tmp_path / "a folder").mkdir()
    weights = tmp_path / "a folder" / "weights.bin"
    weights.write_bytes(b"\x00\x01")
    notebook.shell.user_ns.update(weights=weights, folder=tmp_path / "a folder")
    files = "--file {weights} --file {weights}:data/w.bin --file $folder:all"
    ran = notebook.run(DOUBLE.replace(FLOW, f"{FLOW} {files}"))

    assert (None, "") == (ran.error, ran.stderr)
    inside = folder() / "1"
    found = {str(p.relative_to(inside)) for p in inside.rglob("*") if p.is_file()}
    assert {"model.py", "weights.bin", "data/w.bin", "all/weights.bin"} <= found


def test_a_missing_file_is_named(notebook):
    """The error names it, and nothing of the model is written."""
    ran = notebook.run(DOUBLE.replace(FLOW, "--file nowhere.bin"))

    assert "--file nowhere.bin: there is no file nowhere.bin" in ran.stderr
    assert [] == parts_of(default.server()).repository.names()


def test_a_sibling_file_is_what_the_model_imports(notebook):
    """%%triton_file writes it, and a change reloads the model."""
    notebook.run("%%triton_file double/1/helper.py\nFACTOR = 3\n")
    notebook.run(DOUBLE.replace("import triton", "import helper\nimport triton"))
    notebook.run(
        DOUBLE.replace("import triton", "import helper\nimport triton").replace(
            "x * 2", "x * helper.FACTOR"
        )
    )
    assert [3.0] == blsnb.infer("double", {"X": [1.0]})["Y"].tolist()

    ran = notebook.run("%%triton_file double/1/helper.py\nFACTOR = 5\n")
    assert "double version 1 READY" in ran.texts[0]
    assert [5.0] == blsnb.infer("double", {"X": [1.0]})["Y"].tolist()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", "usage: %%triton_file NAME/VERSION/helper.py"),
        ("double/helper.py", "is not a file of a model"),
        ("double/config.pbtxt", "use %%triton_config double"),
    ],
)
def test_a_sibling_file_needs_its_version(notebook, line, expected):
    """The error shows the usage."""
    ran = notebook.run(f"%%triton_file {line}\nX = 1\n")

    assert expected in ran.stderr


def test_a_file_cannot_leave_the_models_folder(notebook):
    """Paths with dots are refused."""
    ran = notebook.run("%%triton_file double/1/../../../x.py\nX = 1\n")

    assert isinstance(ran.error, RepositoryError)


BROKEN = {
    "syntax": DOUBLE.replace("answers = []", "answers = [[]"),
    "no model class": DOUBLE.replace("TritonPythonModel", "Model"),
    "failing import": DOUBLE.replace("import triton", "import nowhere_at_all, triton"),
    "failing initialize": DOUBLE
    + "    def initialize(self, args):\n        raise ValueError('no weights')\n",
    "malformed spec": DOUBLE.replace("X:FP32[-1]", "X:FP32[-2]"),
    "malformed pbtxt": "%%triton_config double\nmax_batch_size: many\n",
    "invalid config": "%%triton_config double\n" + CONFIG + "max_batch_size: -1\n",
    "unknown option": DOUBLE.replace("--input", "--inptu"),
    "bad name": DOUBLE.replace("triton_model double", "triton_model a/b"),
    "broken helper": "%%triton_file double/1/model.py\nraise OSError('gone')\n",
}


@pytest.mark.parametrize("broken", BROKEN)
def test_bad_input_loses_nothing(notebook, broken):
    """Index, configuration, folder and responses do not change."""
    notebook.run(DOUBLE)
    before = state()
    ran = notebook.run(BROKEN[broken])

    assert ran.error is not None
    assert before == state()


def test_a_failed_reload_shows_both_facts(notebook):
    """The card of the serving version and the error are shown."""
    notebook.run(DOUBLE)
    ran = notebook.run(BROKEN["failing initialize"])

    [card] = ran.texts
    assert "double version 1 READY" in card
    assert "the new one did not load: the previous version still serves" in card
    assert isinstance(ran.error, ModelLoadError)


def test_a_model_that_never_loaded_leaves_nothing(notebook):
    """There is no folder, no index entry and no card."""
    ran = notebook.run(BROKEN["syntax"])

    assert [] == ran.outputs
    assert [] == parts_of(default.server()).repository.names()


def test_a_model_may_call_another(notebook):
    """BLS works between models of different cells."""
    notebook.run(DOUBLE)
    notebook.run(OUTER)
    notebook.run(infer("outer"))

    assert [2.0, 4.0] == notebook.shell.user_ns["run"]["Y"].tolist()


def test_the_first_line_of_an_ordinary_cell_makes_it_a_model(notebook):
    """The cell runs in the notebook, and then its text becomes the model."""
    cell = DOUBLE.removeprefix("%") + "ANSWER = 42\n"
    ran = notebook.run(cell)

    assert ran.error is None
    assert 42 == notebook.shell.user_ns["ANSWER"]
    expected = cell.partition("\n")[2]
    assert expected == (folder() / "1" / "model.py").read_text("utf-8")


def test_a_cell_that_fails_becomes_no_model(notebook):
    """The cell's own error is shown."""
    ran = notebook.run(DOUBLE.removeprefix("%") + "1 / 0\n")

    assert isinstance(ran.error, ZeroDivisionError)
    assert "> 13 1 / 0" in ran.stdout
    assert [] == parts_of(default.server()).repository.names()


def test_the_line_magic_belongs_on_the_first_line(notebook):
    """Elsewhere it raises an error."""
    ran = notebook.run("x = 1\n%triton_model double\n")

    assert "must be the first line of its cell" in ran.stderr


def test_help_is_shown_on_request(notebook):
    """--help defines no model."""
    ran = notebook.run("%%triton_model --help\npass\n")

    assert ran.error is None
    assert ran.stdout.startswith("usage: %%triton_model")


def test_a_path_may_begin_with_the_home_folder(notebook, tmp_path, monkeypatch):
    """A tilde is expanded as in a shell."""
    monkeypatch.setenv("HOME", str(tmp_path))
    Path(tmp_path, "labels.txt").write_text("cat\n")
    notebook.run(DOUBLE.replace(FLOW, f"{FLOW} --file ~/labels.txt"))

    assert "cat\n" == (folder() / "1" / "labels.txt").read_text("utf-8")


def test_options_keep_the_comments_of_a_configuration_cell(notebook):
    """The option is a line of its own at the end."""
    written = f"# Owned by the vision team.\n{CONFIG}"
    notebook.run("%%triton_config double\n" + written)
    notebook.run(DOUBLE.replace(FLOW, "--instances 2"))
    directory = parts_of(default.server()).repository.directory("double")

    text = directory.config_file.read_text()
    assert text.startswith(written)
    assert "  count: 2\n" in text[len(written) :]
