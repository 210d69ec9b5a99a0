"""Specification of the one file that records: its Pythons, faults and limits."""

from __future__ import annotations

import ast

import pytest

import blsnb

from .stub_runs import VERSIONS, interpreter, run_stub, write_recorder

FAULT_STEP = 7
"""Distance of the lines with a fault in the short test."""


@pytest.fixture(scope="module")
def recorder(tmp_path_factory):
    """The one file."""
    return write_recorder(tmp_path_factory.mktemp("recorder"))


@pytest.fixture(scope="module")
def answers(recorder):
    """The answers of the imitated stub without a recording."""
    return run_stub(recorder)[0]


def test_it_has_the_syntax_of_python_3_8_and_imports_no_package(recorder):
    """NumPy's arrays come from the models."""
    tree = ast.parse(recorder.read_text(), feature_version=(3, 8))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update(each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])

    assert set() == imported - {
        "__future__", "_thread", "asyncio", "atexit", "builtins", "collections",
        "concurrent", "contextvars", "ctypes", "fnmatch", "functools", "importlib",
        "itertools", "json", "math", "os", "random", "re", "struct", "sys",
        "threading", "time", "types", "typing", "weakref", "zlib",
    }  # fmt: skip


def test_each_top_level_name_is_defined_once(recorder):
    """The parts share one namespace."""
    names = []
    for node in ast.parse(recorder.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [each.id for each in targets if isinstance(each, ast.Name)]

    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("version", VERSIONS)
def test_answers_are_the_same_on_each_python(recorder, tmp_path, version):
    """The recording has each of them."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    answers, _ = run_stub(recorder, python=python)
    recorded, log = run_stub(recorder, folder=tmp_path / "recording", python=python)
    recording = blsnb.load_recording(tmp_path / "recording")

    assert answers == recorded
    assert "" == log
    # The calls of a batch of two requests are attributed to none of them.
    assert (35, 2, 12) == (
        len(recording),
        len([run for run in recording if run.error and "wrong value" in run.error]),
        len(recording.unattributed),
    )


def test_a_fault_in_a_line_of_the_recorder_changes_no_answer(recorder):
    """It ends the recording, and puts the functions of the backend back."""
    figures, _ = run_stub(recorder, str(FAULT_STEP), program="fault_stub.py")

    assert figures["lines"] >= 60
    assert ([], []) == (figures["changed"], figures["continued"])


@pytest.mark.slow
def test_a_fault_in_any_line_of_the_recorder_changes_no_answer(recorder):
    """Each line that a recording executes has one once."""
    figures, _ = run_stub(recorder, "1", program="fault_stub.py")

    assert figures["lines"] >= 400
    assert ([], []) == (figures["changed"], figures["continued"])


def test_a_recording_of_a_killed_process_is_readable(recorder, answers, tmp_path):
    """Its runs say that the file was not completed."""
    recorded, _ = run_stub(recorder, "kill", folder=tmp_path / "recording", status=-9)
    recording = blsnb.load_recording(tmp_path / "recording")

    assert answers == recorded
    # Two requests were not complete: streams that the model did not read to their ends.
    assert 33 <= len(recording) <= 35
    assert ["was not completed"] == [
        text for text in ["was not completed"] if text in " ".join(recording.remarks)
    ]


def test_a_full_disk_ends_the_recording(recorder, answers, tmp_path):
    """The server's log says so once, and what was written is readable."""
    recorded, log = run_stub(recorder, "small", folder=tmp_path / "recording")

    assert answers == recorded
    assert 1 == log.count("nothing more is recorded")
    assert "File too large" in log
    blsnb.load_recording(tmp_path / "recording")
