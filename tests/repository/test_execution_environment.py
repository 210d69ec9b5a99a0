"""EXECUTION_ENV_PATH is checked, and its packages compared with the notebook's."""

import gzip
import io
import platform
import tarfile
from importlib.metadata import version

import numpy
import pytest

from blsnb.repository import execution_environment
from blsnb.repository.execution_environment import (
    EnvironmentPathError,
    environment_note,
)

ACTIVATE = "bin/activate"
SITE = "lib/python3.11/site-packages"
OTHER = f"{SITE}/numpy-1.0.dist-info/METADATA"
SAME = f"{SITE}/numpy-{numpy.__version__}.dist-info/METADATA"
SOURCE = """
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([]) for _ in requests]
"""
CONFIG = """
backend: "python"
parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "{}" }} }}
"""


@pytest.fixture
def pack(tmp_path):
    """Return a function that packs empty files as conda-pack does."""

    def packed(*names, size=0):
        path = tmp_path / "env.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                entry = tarfile.TarInfo(name)
                entry.size = size
                archive.addfile(entry, io.BytesIO(bytes(size)))
        return path

    return packed


def note_of(path):
    """Return the note on a model with this environment."""
    return environment_note("m", str(path), path.parent)


def test_packages_that_differ_are_listed(pack):
    """Wheels and Conda's records are compared; equal versions are omitted."""
    path = pack(
        ACTIVATE,
        OTHER,
        f"{SITE}/no_such_package-2.1.dist-info/METADATA",
        "conda-meta/python-3.1.4-h9999_0_cpython.json",
        "conda-meta/openssl-3.0-h9999_0.json",
        "conda-meta/protobuf-0.1-py311_0.json",
    )

    assert (
        "m runs with the notebook's Python and packages, not with those of "
        "EXECUTION_ENV_PATH. In env.tar.gz packages differ: "
        "no-such-package 2.1 (not here), "
        f"numpy 1.0 (here {numpy.__version__}), "
        f"protobuf 0.1 (here {version('protobuf')}), "
        f"python 3.1.4 (here {platform.python_version()})."
    ) == note_of(path)


def test_an_equal_environment_needs_no_note(pack):
    """A model without an environment needs none, either."""
    assert "" == note_of(pack(ACTIVATE, SAME))
    assert "" == environment_note("m", "", pack().parent)


def test_a_folder_is_read_in_the_same_way(tmp_path):
    """Triton uses it as it is."""
    for name in (ACTIVATE, OTHER):
        (tmp_path / "env" / name).parent.mkdir(parents=True)
        (tmp_path / "env" / name).touch()

    assert "In env packages differ: numpy 1.0 (" in note_of(tmp_path / "env")


def test_an_unknown_environment_is_not_the_same(pack):
    """An archive without records of packages has a note, too."""
    assert note_of(pack(ACTIVATE)).endswith("In env.tar.gz no packages were found.")


def test_a_changed_archive_is_read_again(pack):
    """Others are not: a reload costs nothing."""
    assert "numpy" in note_of(pack(ACTIVATE, OTHER))
    assert "other" in note_of(pack(ACTIVATE, OTHER.replace("numpy", "other")))


@pytest.mark.parametrize(
    ("limit", "value"), [("_MAX_BYTES", 100_000), ("_MAX_ENTRIES", 3)]
)
def test_reading_is_bounded(pack, monkeypatch, limit, value):
    """What lies beyond is not compared, nor missed."""
    monkeypatch.setattr(execution_environment, limit, value)
    path = pack(OTHER, "a", "b", "c", "d", ACTIVATE, size=50_000)

    assert "numpy 1.0" in note_of(path)


def test_a_bomb_costs_no_more_than_the_limit(tmp_path, monkeypatch):
    """A header that announces gigabytes is inflated up to the limit only."""
    monkeypatch.setattr(execution_environment, "_MAX_BYTES", 1 << 20)
    entry = tarfile.TarInfo("large")
    entry.size = 1 << 40
    path = tmp_path / "env.tar.gz"
    with gzip.open(path, "wb") as file:
        file.write(entry.tobuf() + bytes(4 << 20))

    assert note_of(path).endswith("no packages were found.")


def test_names_in_an_archive_steer_no_terminal(pack):
    """They are printed with marks."""
    note = note_of(pack(ACTIVATE, f"{SITE}/a\x1b[31m\u202e-1\a.dist-info/METADATA"))

    assert "a␛[31m⟨U+202E⟩ 1␇ (not here)" in note


def test_a_missing_path_is_refused_in_triton_s_words(tmp_path):
    """The keyword stands for the folder, and swallows as much as precedes it."""
    for value, path in (
        ("$$TRITON_MODEL_DIRECTORY/env.tar.gz", f"{tmp_path}/env.tar.gz"),
        ("/x/$$TRITON_MODEL_DIRECTORY/env.tar.gz", f"/x/{tmp_path}v.tar.gz"),
    ):
        with pytest.raises(EnvironmentPathError) as failure:
            environment_note("m", value, tmp_path)
        expected = f"Failed to get the canonical path for {path}."
        assert expected == str(failure.value)


def damaged(path):
    """Cut the last half of an archive off."""
    contents = gzip.decompress(path.read_bytes())
    path.write_bytes(contents[: len(contents) // 2])


OPEN = "archive_read_open_filename() failed."
READ = "archive_read_data_block() failed with error code = -30"


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda path: path.write_bytes(b""), OPEN),
        (lambda path: path.write_bytes(b"x" * 2000), OPEN),
        (lambda path: path.write_bytes(path.read_bytes()[:20]), OPEN),
        (lambda path: path.write_bytes(gzip.compress(b"x" * 2000)), OPEN),
        (damaged, READ),
    ],
    ids=["empty", "text", "cut short", "packed text", "half"],
)
def test_an_unreadable_archive_is_refused_in_triton_s_words(pack, spoil, expected):
    """Whether it is no archive or a damaged one."""
    path = pack(ACTIVATE, *(f"{SITE}/file{number}" for number in range(40)), size=600)
    spoil(path)

    with pytest.raises(EnvironmentPathError) as failure:
        note_of(path)
    assert expected == str(failure.value)


@pytest.mark.parametrize("is_folder", [False, True], ids=["archive", "folder"])
def test_an_environment_is_activated_by_its_script(pack, is_folder):
    """A script elsewhere, or a folder of its name, is not the one."""
    path = pack(OTHER, f"other/{ACTIVATE}", "bin/activate.fish")
    if is_folder:
        path = path.parent / "env"
        (path / ACTIVATE).mkdir(parents=True)

    with pytest.raises(EnvironmentPathError) as failure:
        note_of(path)
    assert (
        f"Path {path}/bin/activate does not exist. The Python environment should "
        "contain an 'activate' script."
    ) == str(failure.value)


def test_an_archive_may_be_unpacked_and_have_names_in_its_folder(pack):
    """As ``tar --create .`` writes them."""
    path = pack(f"./{ACTIVATE}", f"./{OTHER}", "./conda-meta/protobuf-0.1-py311_0.json")
    path.write_bytes(gzip.decompress(path.read_bytes()))
    note = note_of(path)

    assert "numpy 1.0 (" in note
    assert "protobuf 0.1 (" in note


def test_records_of_conda_in_a_folder_are_read(tmp_path):
    """Beside those of wheels."""
    for name in (ACTIVATE, "conda-meta/protobuf-0.1-py311_0.json", "conda-meta/x"):
        (tmp_path / "env" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "env" / name).touch()

    expected = f"differ: protobuf 0.1 (here {version('protobuf')})."
    assert note_of(tmp_path / "env").endswith(expected)


@pytest.mark.parametrize(("count", "more"), [(12, ""), (13, " and 1 more")])
def test_the_first_12_packages_are_named(pack, count, more):
    """The others are counted."""
    names = [f"none{number:02}" for number in range(count)]
    note = note_of(pack(ACTIVATE, *(f"{SITE}/{each}-1.dist-info/" for each in names)))

    shown = ", ".join(f"{name} 1 (not here)" for name in names[:12])
    assert note.endswith(f"packages differ: {shown}{more}.")


@pytest.mark.parametrize(("length", "is_read"), [(512, True), (513, False)])
def test_a_record_has_a_path_of_at_most_512_characters(pack, length, is_read):
    """A longer one is not searched."""
    end = "/site-packages/none-1.dist-info"
    path = pack(ACTIVATE, f"{'x/' * length}"[len(end) - length :] + end)

    assert is_read == ("none 1 (not here)" in note_of(path))


def test_the_card_and_the_first_run_have_the_note(server, pack):
    """A failed load has Triton's text."""
    path = pack(ACTIVATE, OTHER)
    status = server.define("m", SOURCE, config=CONFIG.format(path))
    first, second = server.infer("m", {}), server.infer("m", {})

    assert [note_of(path)] == [
        each for each in status.findings if "EXECUTION_ENV_PATH" in each
    ]
    assert note_of(path) in first.notes
    assert note_of(path) not in second.notes
