"""``blsnb test``: a repository's own tests."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE

from .conftest import write_module

TESTS = """
def test_good(triton_infer):
    assert [2, 4] == triton_infer("inner", {"X": [1, 2]})["Y"].tolist()

def test_bad(triton_infer):
    assert [3, 6] == triton_infer("inner", {"X": [1, 2]})["Y"].tolist()
"""


@pytest.fixture
def models(tmp_path):
    """Return a repository with a model and tests."""
    folder = tmp_path / "models"
    (folder / "inner" / "1").mkdir(parents=True)
    source = DOUBLE.replace("import stage\n", "")
    (folder / "inner" / "1" / "model.py").write_text(source)
    (folder / "inner" / "config.pbtxt").write_text(CONFIG)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_it.py").write_text(TESTS)
    return folder


def test_the_tests_of_a_repository_run_with_its_models(models, process):
    """Status and options are pytest's."""
    ended = process("test", "models", "-q")
    assert 1 == ended.status
    assert "1 failed, 1 passed" in ended.stdout
    assert "blsnb runs" in ended.stdout

    ended = process("test", models, "-k", "good", "-p", "no:cacheprovider")
    assert 0 == ended.status
    assert "1 passed, 1 deselected" in ended.stdout


def test_pytest_gets_the_words_unchanged(models, process, tmp_path):
    """The repository may have any name."""
    models.rename(tmp_path / "a b")
    write_module(tmp_path, "pytest", "import sys; print(sys.argv[1:])")
    ended = process("test", "a b", "-k", "a or b", "--", "-x")

    words = ["a b/tests", "--triton-repository=a b", "-k", "a or b", "--", "-x"]
    assert (0, f"{words}\n", "") == ended


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a model repository (see blsnb test --help)"),
        (["-x"], "name a model repository (see blsnb test --help)"),
        (["nowhere"], "'nowhere' is not a folder of models: it does not exist"),
        (
            ["."],
            "'.' has no folder 'tests'. Tests elsewhere: "
            "pytest --triton-repository . FOLDER",
        ),
    ],
)
def test_errors_are_one_line(words, said, blsnb, tmp_path, monkeypatch):
    """The tests do not start."""
    monkeypatch.chdir(tmp_path)
    ended = blsnb("test", *words)

    assert (2, "") == (ended.status, ended.stdout)
    assert f"blsnb test: {said}\n" == ended.stderr


def test_a_missing_pytest_is_an_error_with_the_install_command(
    models, blsnb, monkeypatch
):
    """The package is not a dependency of blsnb."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ended = blsnb("test", models)

    assert 2 == ended.status
    assert "pytest is not installed: " in ended.stderr
    assert ended.stderr.endswith(" -m pip install 'pytest'\n")
