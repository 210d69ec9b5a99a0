"""Models leave as a repository, whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from blsnb.errors import RepositoryError
from blsnb.files import swap
from blsnb.files.owned import locked
from blsnb.repository import copying, manifest
from blsnb.repository.export import Export, exportable
from blsnb.repository.manifest import MANIFEST
from blsnb.repository.repository import ModelRepository

RELEASE = (26, 7)
SOURCE = "class TritonPythonModel:\r\n    'ä, to the letter'\n"
OURS = {"README.md", "requirements.txt", MANIFEST}


NOT_OURS = (
    ": not written by an export, or changed since. Nothing was written. Export "
    "elsewhere, move them away, or overwrite them with --force (force=True)."
)


@pytest.fixture
def repository():
    """A private folder with two models."""
    repository = ModelRepository()
    put(repository, "a", {"1/model.py": SOURCE, "1/sub/helper.py": "x = 1"})
    put(repository, "b", {"1/model.py": "b", "config.pbtxt": "max_batch_size: 4"})
    yield repository
    repository.close()


@pytest.fixture
def target(tmp_path) -> Path:
    """Where exports go: not there yet."""
    return tmp_path / "deep" / "out"


def put(repository, name, files):
    """Write files of a model and keep them."""
    with repository.changing(name, files):
        pass


def export(repository, target, *names, force=False):
    """Export by name, or all."""
    chosen, notes = exportable(repository, names or None)
    return Export(target, RELEASE, force=force).write(chosen, notes)


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder; None for folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        if path.is_file()
        else None
        for path in sorted(folder.rglob("*"))
    }


def models(folder: Path) -> dict[str, bytes | None]:
    """Everything but what an export adds."""
    return {path: held for path, held in tree(folder).items() if path not in OURS}


def test_models_leave_byte_for_byte(repository, target):
    """Sources, configurations, helper files."""
    exported = export(repository, target)

    assert models(repository.private_root) == models(target)
    assert SOURCE.encode() == (target / "a" / "1" / "model.py").read_bytes()
    assert (target, ("a", "b")) == (exported.path, exported.models)
    assert f"<2 models exported to {target}>" == repr(exported)
    assert OURS | {"a", "b"} == {path.name for path in target.iterdir()}


def test_only_named_models_are_exported(repository, target):
    """Each is exported once, in the given order."""
    assert ("b",) == export(repository, target, "b", "b").models
    assert not (target / "a").exists()


def test_compiled_files_are_not_exported(repository, target):
    """They belong to one interpreter."""
    put(repository, "a", {"1/__pycache__/model.pyc": b"x"})
    export(repository, target)

    assert [] == list(target.rglob("__pycache__"))


def test_an_ensemble_has_a_version_folder(repository, target):
    """Triton wants one, though nothing is in it."""
    put(repository, "e", {"config.pbtxt": "ensemble_scheduling { step {} }"})
    export(repository, target)

    assert tree(target / "e")["1"] is None


def test_empty_folders_leave_too(repository, target):
    """A model may want to write there."""
    (repository.private_root / "a" / "1" / "cache").mkdir()
    export(repository, target)

    assert tree(target / "a")["1/cache"] is None


def test_an_export_replaces_an_earlier_one(repository, target):
    """Changes are written, and removed files are removed."""
    export(repository, target)
    put(repository, "a", {"1/model.py": "new", "1/sub/helper.py": None})
    export(repository, target)

    assert models(repository.private_root) == models(target)


def test_exporting_twice_changes_nothing(repository, target):
    """Not even the texts."""
    export(repository, target)
    before = tree(target)
    export(repository, target)

    assert before == tree(target)


def test_another_export_adds_its_models(repository, target):
    """The texts speak of all that is there; a model that is gone is not named."""
    put(repository, "a", {"1/model.py": "import numpy"})
    put(repository, "b", {"1/model.py": "import IPython"})
    export(repository, target, "a")
    export(repository, target, "b")
    requirements = (target / "requirements.txt").read_text()
    assert "numpy==" in requirements
    assert "ipython==" in requirements

    shutil.rmtree(target / "a")
    export(repository, target, "b")
    assert "`a`" not in (target / "README.md").read_text()
    assert "numpy==" not in (target / "requirements.txt").read_text()


FOREIGN = [
    "a/1/model.py",
    "a/2/model.py",
    "b/config.pbtxt",
    "README.md",
    "requirements.txt",
]


@pytest.mark.parametrize("path", FOREIGN)
@pytest.mark.parametrize("before", [False, True], ids=["foreign", "changed since"])
def test_a_foreign_file_is_not_overwritten(repository, target, path, before):
    """One that no export wrote, or that was changed: nothing at all is written."""
    if before:
        export(repository, target)
    (target / path).parent.mkdir(parents=True, exist_ok=True)
    (target / path).write_text("theirs")
    held = tree(target)

    with pytest.raises(RepositoryError) as refused:
        export(repository, target)
    assert (
        f"{path} in {target}: not written by an export, or changed since. Nothing was "
        "written. Export elsewhere, move them away, or overwrite them with --force "
        "(force=True)."
    ) == str(refused.value)
    assert held == tree(target)

    export(repository, target, force=True)
    assert models(repository.private_root) == models(target)


def test_files_that_triton_compiled_do_not_prevent_an_export(repository, target):
    """A model that was served from the folder is exported again."""
    export(repository, target)
    compiled = target / "a" / "1" / "__pycache__"
    compiled.mkdir()
    (compiled / "model.cpython-311.pyc").write_bytes(b"x")
    put(repository, "a", {"1/model.py": "new"})

    export(repository, target)
    assert models(repository.private_root) == models(target)


def test_an_identical_file_does_not_prevent_an_export(repository, target):
    """A manifest is not needed."""
    export(repository, target, "b")
    shutil.copytree(repository.private_root / "a", target / "a")

    export(repository, target)
    assert models(repository.private_root) == models(target)


@pytest.mark.parametrize("text", ["", "[]", '{"files": []}', "{", '{"files": 1}'])
def test_a_broken_manifest_makes_everything_foreign(repository, target, text):
    """When in doubt, a file is theirs."""
    export(repository, target)
    (target / MANIFEST).write_text(text)
    (target / "a" / "1" / "model.py").write_text("changed")

    with pytest.raises(RepositoryError) as refused:
        export(repository, target)
    files = "a/1/model.py, README.md, requirements.txt"
    assert f"{files} in {target}{NOT_OURS}" == str(refused.value)


def test_the_first_five_foreign_files_are_named(repository, target):
    """The others are counted."""
    put(repository, "a", {f"1/file{number}": "ours" for number in range(6)})
    (target / "a" / "1").mkdir(parents=True)
    for number in range(6):
        (target / "a" / "1" / f"file{number}").write_text("theirs")

    with pytest.raises(RepositoryError) as refused:
        export(repository, target)
    files = ", ".join(f"a/1/file{number}" for number in range(5))
    assert f"{files} and 1 more in {target}{NOT_OURS}" == str(refused.value)


def test_models_of_others_are_left_alone(repository, target):
    """An export touches the models that it writes."""
    theirs = target / "theirs" / "1" / "model.py"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    export(repository, target)

    assert "theirs" == theirs.read_text()
    assert "theirs" not in (target / "README.md").read_text()


def full_at(monkeypatch, name):
    """Let the disk be full when a file of this name is copied."""

    def copyfile(source, to):
        if Path(to).name == name:
            Path(to).write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(to))
        Path(to).write_bytes(Path(source).read_bytes())

    monkeypatch.setattr(copying.shutil, "copyfile", copyfile)


def test_a_full_disk_leaves_nothing_half(repository, target, monkeypatch):
    """What was complete by then stays, the rest is as before."""
    export(repository, target, "b")
    put(repository, "b", {"1/model.py": "newer", "1/weights": b"heavy"})
    before = tree(target / "b")
    full_at(monkeypatch, "weights")

    with pytest.raises(RepositoryError) as caught:
        export(repository, target)

    assert (
        f"the export to {target} ended early: the disk is full. Exported: a. "
        "As before: b. Free some space, and export again."
    ) == str(caught.value)
    assert tree(repository.private_root / "a") == tree(target / "a")
    assert before == tree(target / "b")
    assert [] == [path for path in target.iterdir() if path.name.startswith(".blsnb-")
                  and path.name != MANIFEST]  # fmt: skip
    monkeypatch.undo()
    export(repository, target)
    assert models(repository.private_root) == models(target)


@pytest.mark.parametrize("name", ["README.md", "requirements.txt", MANIFEST])
def test_a_full_disk_leaves_the_texts_as_they_were(
    repository, target, monkeypatch, name
):
    """Each is written beside its place and moved there."""
    export(repository, target)
    before = tree(target)
    put(repository, "c", {"1/model.py": "import numpy"})
    whole = Path.write_bytes

    def write_bytes(self, content):
        if name.lstrip(".") in self.name:
            whole(self, content[:3])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
        return whole(self, content)

    monkeypatch.setattr(manifest.Path, "write_bytes", write_bytes)
    with pytest.raises(RepositoryError, match="the disk is full"):
        export(repository, target)

    assert before[name] == (target / name).read_bytes()
    assert set(tree(target)) <= {*before, "c", "c/1", "c/1/model.py"}


def test_a_folder_that_cannot_be_swapped_stays(repository, target, monkeypatch):
    """Where the system cannot exchange folders, between the two steps."""
    export(repository, target)
    before = tree(target)
    put(repository, "a", {"1/model.py": "newer"})
    rename = Path.rename

    def failing(self, to):
        if to == target / "a" and self.name != "a":
            raise PermissionError(errno.EACCES, "no", str(to))
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", failing)
    monkeypatch.setattr(swap, "_renameat2", lambda: None)
    with pytest.raises(RepositoryError) as refused:
        export(repository, target)
    assert (
        f"the export to {target} ended early: [Errno 13] no: '{target / 'a'}'. As "
        "before: a, b. Export to a folder that you may write, or that does not exist "
        "yet."
    ) == str(refused.value)

    assert before == tree(target)


def test_a_target_that_is_a_file(repository, target):
    """The error names it, and it stays."""
    target.parent.mkdir(parents=True)
    target.write_text("theirs")

    with pytest.raises(RepositoryError, match=str(target)):
        export(repository, target)
    assert "theirs" == target.read_text()


@pytest.mark.parametrize("name", ["../out", "a/../b", "/etc", "..", "", ".hidden"])
def test_a_name_is_not_a_path(repository, target, name):
    """There is no such model, so nothing is written anywhere."""
    with pytest.raises(RepositoryError, match="there is no such model"):
        export(repository, target, name)
    assert not target.exists()


@pytest.mark.parametrize("path", ["a", "README.md", "a/1", "a/1/model.py"])
def test_nothing_is_written_through_a_link(repository, target, tmp_path, path):
    """A link in the target is foreign; if forced, it is the link that goes."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs")
    place = target / path
    place.parent.mkdir(parents=True)
    place.symlink_to(outside / "file" if place.suffix else outside)

    with pytest.raises(RepositoryError, match="--force"):
        export(repository, target)
    export(repository, target, force=True)

    assert {"file": b"theirs"} == tree(outside)
    assert not place.is_symlink()
    assert models(repository.private_root) == models(target)


def test_links_of_a_model_are_resolved(repository, target, tmp_path):
    """Weights are often stored elsewhere."""
    weights = tmp_path / "weights"
    weights.write_bytes(b"heavy")
    (repository.private_root / "a" / "1" / "weights").symlink_to(weights)
    for _ in range(2):
        export(repository, target)

    copy = target / "a" / "1" / "weights"
    assert not copy.is_symlink()
    assert b"heavy" == copy.read_bytes()


@pytest.mark.parametrize("to", ["nowhere", "..", "."])
def test_a_link_that_leads_nowhere_is_named(repository, target, to):
    """Circular links are named, too; earlier models are exported."""
    (repository.private_root / "b" / "1" / "link").symlink_to(to)

    with pytest.raises(RepositoryError, match="link"):
        export(repository, target)
    assert not (target / "b").exists()


@pytest.mark.parametrize("inner", ["", "a", "a/1"])
def test_models_are_not_exported_into_themselves(repository, inner):
    """They would be replaced by their own copies."""
    before = tree(repository.private_root)

    to = repository.private_root / inner
    with pytest.raises(RepositoryError) as refused:
        export(repository, to)
    assert (
        f"{to} is where model 'a' comes from; export it to another folder, or write "
        "what cells changed with --in-place (in_place=True)"
    ) == str(refused.value)
    assert before == tree(repository.private_root)


def test_incomplete_models_are_left_out(repository, target):
    """A note says so; naming one is an error."""
    put(repository, "c", {"1/helper.py": "no model yet"})
    (repository.private_root / "d").mkdir()
    exported = export(repository, target)

    assert ("a", "b") == exported.models
    empty = "d: the folder has neither a version nor a configuration"
    unwritten = "c: it has no model.py yet"
    assert (
        f"{unwritten}; it was left out",
        f"{empty}; it was left out",
    ) == exported.notes[:2]
    with pytest.raises(RepositoryError) as refused:
        export(repository, target, "a", "c", "d", "e")
    unknown = "e: there is no such model; there are: a, b, c, d."
    assert f"cannot export {unwritten}; {empty}; {unknown}" == str(refused.value)


def test_replaced_and_unloaded_models_are_left_out(repository):
    """An unloaded one is exported if it is named."""
    standins, unloaded = {"a": "zeros"}, {"b"}
    replaced = (
        "a: a stand-in replaces it (zeros), so the model itself never ran here; unload "
        "the stand-in first"
    )
    chosen, notes = exportable(repository, None, standins, unloaded)
    (named,), _ = exportable(repository, ["b", "b"], standins, unloaded)

    left = [f"{replaced}; it was left out", "b: it is unloaded; it was left out"]
    assert ([], left) == (chosen, notes)
    assert "b" == named.name
    with pytest.raises(RepositoryError) as refused:
        exportable(repository, ["b", "a"], standins, unloaded)
    assert f"cannot export {replaced}" == str(refused.value)


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("BLSNB_ZERO_COPY", "on Triton every input is a copy that may be written"),
        (
            "BLSNB_THREAD",
            "on Triton every instance has a process, and so a thread, of its own "
            "anyway",
        ),
    ],
)
def test_parameters_of_blsnb_are_noted(repository, target, name, meaning):
    """They mean nothing on Triton."""
    row = f'parameters {{ key: "{name}" value {{ string_value: "instance" }} }}'
    put(repository, "b", {"config.pbtxt": row})
    notes = export(repository, target, "b").notes

    assert (f"b: the parameter {name} means nothing to Triton: {meaning}",) == notes


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        (
            "a b",
            "contains white space: given to tritonserver, no load of a Python model "
            "ends",
        ),
        (
            "\xe9t\xe9",
            "is not ASCII: given to tritonserver of release 24.10, no Python model "
            "loads",
        ),
    ],
)
def test_a_path_from_which_triton_loads_nothing_is_noted(
    repository, tmp_path, folder, words
):
    """The load would never end, or fail; a link has another path."""
    (note,) = export(repository, tmp_path / folder, "b").notes

    assert (
        f"the path '{tmp_path / folder}' {words}; give it another path, such as that "
        "of a link"
    ) == note


def test_a_name_with_which_triton_loads_nothing_is_noted(repository, target):
    """The model is exported nevertheless."""
    put(repository, "\xe9t\xe9", {"1/model.py": "pass", "config.pbtxt": ""})
    notes = export(repository, target, "\xe9t\xe9").notes

    assert (
        "\xe9t\xe9: the name is not ASCII; a Python model with such a path does not "
        "load on Triton 24.10, which fails with UnicodeEncodeError",
    ) == notes


def test_a_missing_configuration_is_noted(repository, target):
    """A strict server refuses the model."""
    (note,) = export(repository, target, "a").notes

    assert (
        "a: there is no config.pbtxt; auto_complete_config must give inputs and "
        "outputs, and a server with --disable-auto-complete-config refuses the model"
    ) == note


def test_an_invalid_configuration_is_noted(repository, target):
    """It is exported unchanged."""
    put(repository, "b", {"config.pbtxt": "max_batch_size: {"})
    (note,) = export(repository, target, "b").notes

    assert note.startswith("b: failed to read text proto from ")
    assert note.endswith("; Triton will not load it")
    assert b"max_batch_size: {" == (target / "b" / "config.pbtxt").read_bytes()


def test_the_readme_has_the_commands(repository, target):
    """For the release, in its container and without."""
    export(repository, target)
    text = (target / "README.md").read_text()

    assert "In NVIDIA's container of release 26.07, from this folder:" in text
    assert "nvcr.io/nvidia/tritonserver:26.07-py3" in text
    assert "tritonserver --model-repository=." in text
    assert "pip install -r requirements.txt" in text
    assert "- `a`, version 1\n- `b`, version 1\n" in text
    assert "--gpus" not in text


def test_a_model_on_a_gpu_wants_one_in_the_container(repository, target):
    """Docker only gives access to GPUs on request."""
    put(repository, "b", {"config.pbtxt": "instance_group { kind: KIND_GPU }"})
    export(repository, target)

    assert "docker run --rm --gpus=all " in (target / "README.md").read_text()


@pytest.mark.parametrize(
    ("release", "version", "said"),
    [
        ((24, 10), "2.3.1", 1),
        ((24, 10), "10.0", 1),
        ((24, 10), "1.26.4", 0),
        ((24, 11), "2.3.1", 0),
        ((26, 7), "2.3.1", 0),
    ],
)
def test_an_incompatible_numpy_is_noted(
    repository, target, monkeypatch, release, version, said
):
    """Model processes of 24.10 end with it."""
    put(repository, "b", {"1/model.py": "import numpy"})
    monkeypatch.setattr("importlib.metadata.version", lambda name: version)
    chosen, _ = exportable(repository, ["b"])
    notes = Export(target, release).write(chosen).notes

    note = (
        "requirements.txt pins numpy 2 or later, with which the model processes of "
        "Triton 24.10 end: take numpy<2 there"
    )
    assert [note] * said == [each for each in notes if "numpy" in each]


def test_other_folders_are_noted(repository, target):
    """Triton treats each as a model; the next export knows its own."""
    export(repository, target, "a")
    for name in (".ipynb_checkpoints", "theirs"):
        (target / name).mkdir()
    notes = export(repository, target, "b").notes

    takes = "this folder is there too, and Triton takes it for a model"
    assert (f".ipynb_checkpoints: {takes}", f"theirs: {takes}") == notes


def test_the_manifest_has_the_written_files(repository, target):
    """It has paths and digests, and nothing about this machine."""
    export(repository, target)
    text = (target / MANIFEST).read_text()

    assert {
        "README.md",
        "requirements.txt",
        "a/1/model.py",
        "a/1/sub/helper.py",
        "b/1/model.py",
        "b/config.pbtxt",
    } == set(json.loads(text)["files"])
    assert str(repository.private_root) not in text


def leftover(folder, target, name, *suffix):
    """Make what an export left that was killed, with a model in it."""
    path = folder / f"{copying._prefix(target)}{'0' * 16}{''.join(suffix)}" / name
    (path / "1").mkdir(parents=True)
    (path / "1" / "model.py").write_text("left")


@pytest.mark.parametrize("by", ["an export", "an import", "a server's start"])
def test_what_a_killed_export_left_is_put_right(repository, target, by):
    """A model that was moved away is restored; staged files are removed."""
    export(repository, target, "b")
    leftover(target.parent, target, "a", swap.OLD)
    leftover(target.parent, target, "b")
    leftover(target, target, "c")
    kept = target.parent / ".blsnb-export-of-another"
    kept.mkdir()

    match by:
        case "an export":
            export(repository, target, "b")
        case "an import":
            repository.add(target)
        case _:
            ModelRepository([target]).close()

    assert {kept, target} == set(target.parent.iterdir())
    assert {"a", "b"} == {path.name for path in target.iterdir() if path.is_dir()}
    assert "left" == (target / "a" / "1" / "model.py").read_text()


def test_an_import_leaves_a_running_export_alone(repository, target):
    """It is completed by the one that runs it."""
    target.mkdir(parents=True)
    leftover(target.parent, target, "a")
    with locked(target, 0):
        repository.add(target)

    assert 2 == len(list(target.parent.iterdir()))


def test_a_folder_that_cannot_be_staged_beside_the_target(
    repository, target, monkeypatch
):
    """Where the target is mounted, the copy is staged in it, and moved at the end."""
    rename = Path.rename

    def across_mounts(self, to):
        if self.parent != Path(to).parent:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(self))
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", across_mounts)
    export(repository, target)
    put(repository, "a", {"1/model.py": "newer"})
    export(repository, target)

    assert models(repository.private_root) == models(target)
    assert [target] == list(target.parent.iterdir())
