"""An imported folder is followed: what an editor saves is in service at once."""

from __future__ import annotations

import os
import shutil
from types import SimpleNamespace

import pytest
from waiting import until

from blsnb.clock.pausing_clock import CLOCK
from blsnb.magics import default_server as default
from blsnb.parts import following
from blsnb.parts.server_parts import parts_of

from .models import DOUBLE

SOURCE = DOUBLE.partition("\n")[2]
CONFIG = "".join(
    f'{field} {{ name: "{name}" data_type: TYPE_FP32 dims: [ -1 ] }}\n'
    for field, name in (("input", "X"), ("output", "Y"))
)
INFER = "%triton infer double X=[1.0]"


def make(root, name="double", source=SOURCE):
    """Write a model into a folder and return its file."""
    version = root / name / "1"
    version.mkdir(parents=True)
    (root / name / "config.pbtxt").write_text(CONFIG)
    (version / "model.py").write_text(source)
    return version / "model.py"


@pytest.fixture
def repository(notebook, tmp_path):
    """A folder with a model that doubles, imported into a notebook."""
    root = tmp_path / "models"
    file = make(root)
    notebook.run(f"%triton import {root}")
    return root, file, notebook


def times(factor):
    return SOURCE.replace("* 2", f"* {factor}")


def is_poll_due():
    """Return whether the next request polls the folder."""
    return parts_of(default.server()).following._clock.is_due(CLOCK.now_ns())


def by_rename(file, text):
    """Save as Vim, Emacs and JupyterLab do."""
    (file.parent / "model.py.new").write_text(text)
    os.replace(file.parent / "model.py.new", file)


def by_truncation(file, text):
    file.write_text(text)


def in_pieces(file, text):
    with file.open("w") as opened:
        for line in text.splitlines(keepends=True):
            opened.write(line)
            opened.flush()


def with_a_backup(file, text):
    """Save as Emacs and Vim do with backups: the old file is renamed."""
    file.rename(file.with_name("model.py~"))
    file.write_text(text)


@pytest.mark.parametrize("save", [by_rename, by_truncation, in_pieces, with_a_backup])
def test_a_saved_file_is_in_service_in_the_next_cell(repository, save):
    """The cell shows the card of the model, once."""
    _, file, notebook = repository
    save(file, times(3))
    ran = notebook.run(INFER)

    assert [3.0] == ran.value["Y"].tolist()
    assert ran.texts[0].startswith("double version 1 READY")
    assert [] == notebook.run("pass").outputs


def test_a_file_saved_by_the_cell_is_in_service_in_its_next_request(repository):
    """The folder is polled again after 100 ms, on a busy machine after more."""
    _, file, notebook = repository
    notebook.shell.user_ns.update(
        file=file, text=times(3), wait_until_due=lambda: until(is_poll_due)
    )
    cell = (
        "import blsnb\n"
        "wait_until_due()\n"
        "file.write_text(text)\n"
        "blsnb.infer('double', {'X': [1.0]})['Y'].tolist()"
    )

    assert [3.0] == notebook.run(cell).value


def test_a_syntax_error_names_file_and_line_and_the_last_version_serves(repository):
    """Once; the table of models says so, too."""
    _, file, notebook = repository
    file.write_text(SOURCE + "\ndef oops(:\n")
    ran = notebook.run(INFER)
    line = (SOURCE + "\n").count("\n") + 1

    assert [2.0] == ran.value["Y"].tolist()
    assert f'File "{file}", line {line}' in ran.texts[0]
    assert "the previous version still serves" in ran.texts[0]
    assert 1 == len(notebook.run(INFER).outputs)
    [table] = notebook.run("%triton models").texts
    assert "newer files did not load: SyntaxError" in table

    file.write_text(times(5))
    assert [5.0] == notebook.run(INFER).value["Y"].tolist()
    assert "did not load" not in notebook.run("%triton models").texts[0]


def test_without_watching_a_saved_file_waits_for_a_load(notebook, tmp_path):
    """As before; importing again without the option follows it."""
    root = tmp_path / "models"
    file = make(root)
    notebook.run(f"%triton import {root} --no-watch")
    by_rename(file, times(3))
    assert [2.0] == notebook.run(INFER).value["Y"].tolist()
    assert parts_of(default.server()).readers.before_request is None

    notebook.run(f"%triton import {root}")
    by_rename(file, times(4))
    assert [4.0] == notebook.run(INFER).value["Y"].tolist()


def test_configuration_labels_and_weights_are_followed(repository):
    """Any file that was there when the model was loaded."""
    root, file, notebook = repository
    (root / "double" / "factor.txt").write_text("2")
    text = SOURCE.replace("* 2", "* FACTOR")
    file.write_text(
        "import pathlib\n"
        "FACTOR = int((pathlib.Path(__file__).parents[1] / 'factor.txt').read_text())\n"
        + text
    )
    assert [2.0] == notebook.run(INFER).value["Y"].tolist()
    (root / "double" / "factor.txt").write_text("7")
    assert [7.0] == notebook.run(INFER).value["Y"].tolist()

    (root / "double" / "config.pbtxt").write_text(CONFIG.replace('"Y"', '"Z"'))
    ran = notebook.run("%triton config double")
    assert 'name: "Z"' in ran.stdout


def test_what_a_model_writes_into_its_folder_is_no_reason_to_load_it(repository):
    """It would lose its state with every request."""
    _, file, notebook = repository
    source = SOURCE.replace(
        "def execute(self, requests):",
        "def execute(self, requests):\n"
        "        with open(__file__ + '.log', 'a') as log:\n"
        "            log.write('x')",
    )
    assert source != SOURCE
    file.write_text(source)
    notebook.run(INFER)
    loaded = default.server().model("double").load_s
    notebook.run(INFER)
    notebook.run(INFER)

    assert loaded == default.server().model("double").load_s


def test_a_new_model_is_loaded_and_a_removed_one_unloaded(repository):
    """The cell names both; a renamed folder is the one and the other."""
    root, _, notebook = repository
    make(root, "other", times(9))
    [card] = notebook.run("pass").texts
    assert card.startswith("other version 1 READY")

    (root / "other").rename(root / "third")
    notice, card = notebook.run("pass").texts
    assert f"⚠ other was unloaded: its folder was removed from {root}" == notice
    assert card.startswith("third version 1 READY")

    shutil.rmtree(root / "third")
    notebook.run("pass")
    assert ["double"] == [each.name for each in default.server().models()]
    assert [] == notebook.run("pass").outputs


def test_a_named_import_follows_the_named_models(notebook, tmp_path):
    """Others are loaded by another import of the same folder."""
    root = tmp_path / "models"
    file, other = make(root), make(root, "other")
    notebook.run(f"%triton import {root} double")
    by_rename(file, times(3))
    by_rename(other, times(4))
    make(root, "third")
    assert 1 == len(notebook.run("pass").outputs)

    notebook.run(f"%triton import {root} other")
    by_rename(file, times(5))
    by_rename(other, times(6))
    assert 2 == len(notebook.run("pass").outputs)


def test_a_folder_that_is_gone_takes_no_model_along(repository):
    """Said once; when it is back, it is followed again."""
    root, file, notebook = repository
    away = root.rename(root.with_name("away"))
    [notice] = notebook.run("pass").texts
    assert f"⚠ {root} is missing or unreadable; its models still serve" == notice
    assert [] == notebook.run("pass").outputs
    assert [2.0] == notebook.run(INFER).value["Y"].tolist()

    away.rename(root)
    by_rename(file, times(3))
    assert [3.0] == notebook.run(INFER).value["Y"].tolist()


def test_the_text_of_a_cell_outlives_the_folder_of_its_model(repository):
    """The notebook still has it."""
    root, _, notebook = repository
    notebook.run(DOUBLE.replace("* 2", "* 3"))
    shutil.rmtree(root / "double")
    [notice] = notebook.run("pass").texts

    text = f"⚠ double was removed from {root}; the text of a cell still serves"
    assert text == notice
    assert [3.0] == notebook.run(INFER).value["Y"].tolist()


def test_a_file_that_never_stops_changing_delays_a_cell_for_a_second(
    repository, monkeypatch
):
    """Then the old version serves, and the file is named."""
    root, file, notebook = repository
    pauses = []

    def write(seconds):
        pauses.append(seconds)
        by_rename(file, times(len(pauses) + 3) + "\n" * len(pauses))

    monkeypatch.setattr(following, "time", SimpleNamespace(sleep=write))
    by_rename(file, times(3))
    [notice] = notebook.run("pass").texts

    assert f"⚠ double is still being written in {root}" == notice
    assert [0.05] * 19 == pauses


def test_an_unloaded_model_stays_unloaded_when_it_is_saved(repository):
    """Until it is loaded by name: then it is followed again."""
    _, file, notebook = repository
    notebook.run("%triton unload double")
    by_rename(file, times(3))
    notebook.run("pass")
    assert "UNAVAILABLE" == default.server().model("double").state

    notebook.run("%triton load double")
    assert [] == notebook.run("pass").outputs
    by_rename(file, times(4))
    assert [4.0] == notebook.run(INFER).value["Y"].tolist()


def test_many_files_changed_at_once_are_loaded_together(repository):
    """As `git checkout` does it: models, configurations, new and removed ones."""
    root, _, notebook = repository
    for number in range(5):
        make(root, f"m{number}", times(number))
    notebook.run("pass")
    for number in range(4):
        (root / f"m{number}" / "1" / "model.py").write_text(times(10 + number))
    shutil.rmtree(root / "m4")
    make(root, "m5", times(15))
    notebook.run("pass")

    for number in (0, 1, 2, 3, 5):
        ran = notebook.run(INFER.replace("double", f"m{number}"))
        assert [10.0 + number] == ran.value["Y"].tolist()
    assert "m4" not in [each.name for each in default.server().models()]


def test_an_unreadable_file_is_named_and_the_last_version_serves(repository):
    """A superuser reads every file: there it is a folder in its place."""
    _, file, notebook = repository
    file.unlink()
    file.mkdir()
    [card] = notebook.run("pass").texts
    assert "its changed files do not load" in card

    file.rmdir()
    file.write_text(times(3))
    assert [3.0] == notebook.run(INFER).value["Y"].tolist()


def test_without_a_notebook_the_log_says_what_was_loaded(tmp_path):
    """In a script, with `watch=True`; without it nothing is followed."""
    import blsnb

    root = tmp_path / "models"
    file = make(root)
    with blsnb.Server() as server:
        server.import_repository(root)
        by_rename(file, times(3))
        assert [2.0] == server.infer("double", {"X": [1.0]})["Y"].tolist()

        server.import_repository(root, watch=True)
        by_rename(file, times(4))
        parts_of(server).following.poll()
        assert [4.0] == server.infer("double", {"X": [1.0]})["Y"].tolist()
        file.write_text("1 / 0")
        parts_of(server).following.poll()
        texts = [each.text for each in server.log.lines]
    assert "double was reloaded" in texts
    assert (
        "double did not load after a change: Internal: ZeroDivisionError" in texts[-1]
    )


def test_an_export_into_a_followed_folder_is_no_save_of_the_user(repository):
    """The next cells say nothing of it; a later save there is reported."""
    root, _, notebook = repository
    notebook.run(DOUBLE.replace("double", "twice"))
    notebook.run(f"%triton export {root} twice")
    assert [] == notebook.run("pass").texts + notebook.run("pass").texts

    by_truncation(root / "twice" / "1" / "model.py", times(3))
    [said] = notebook.run("pass").texts
    assert f"⚠ twice was saved in {root}, but a cell's own text serves" == said


def test_an_import_shows_a_table_of_its_models(notebook, tmp_path):
    """A folder without any says what it lacks."""
    make(tmp_path / "models")
    (tmp_path / "empty").mkdir()
    [table] = notebook.run(f"%triton import {tmp_path / 'models'}").outputs
    said = notebook.run(f"%triton import {tmp_path / 'empty'}").stdout

    assert table["text/html"].startswith("<table>")
    rows = table["text/plain"].splitlines()
    assert ["model", "double"] == [row.split()[0] for row in rows]
    assert said.startswith(f"There are no models in {tmp_path / 'empty'}: ")


def test_a_new_model_that_does_not_load_has_no_version_that_serves(repository):
    """The card has the reason, once."""
    root, _, notebook = repository
    make(root, "other", "1 / 0\n")
    [card, *_] = notebook.run(INFER).texts

    assert card.startswith("other UNAVAILABLE")
    assert 1 == card.count("Internal: ZeroDivisionError")
    assert "still serves" not in card
