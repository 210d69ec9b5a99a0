"""Faults in lines of the recorder, beside a real server."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import waiting
from tritonclient.utils import InferenceServerException

from . import line_faults
from .fault_lines import unguarded_lines
from .production import BODIES, serving, write_models

ALL = "BLSNB_ALL_FAULTS"
"""Environment variable: if set, each line has a fault, which takes half an hour."""
SAMPLE = 70
"""Number of lines that have a fault otherwise."""
CLIENT_MODELS = {"counts": "streams"}
"""The model that a client requests for each process with faults, if it is another."""
MODELS = [name for name in BODIES if name != "late"]
PTH = """\
import os; exec("import line_faults; line_faults.start()") \
if os.environ.get("BLSNB_TEST_FAULT") else None
"""

pytestmark = [
    pytest.mark.triton_server,
    pytest.mark.slow,
    pytest.mark.timeout(3600 if ALL in os.environ else 600),
]


@pytest.fixture
def faulty(recorded_env, tmp_path, monkeypatch):
    """A server whose models read the line of a fault; the file, and the recorder's."""
    [recorder] = Path(recorded_env.python).parents[1].rglob("blsnb_recorder.py")
    source = recorder.with_name("line_faults.py")
    # Before the recorder's own: files are read in the order of their names.
    pth = recorder.with_name("a_line_faults.pth")
    shutil.copy(line_faults.__file__, source)
    pth.write_text(PTH)
    file = tmp_path / "fault"
    file.write_text("0")
    monkeypatch.setenv("BLSNB_TEST_FAULT", str(file))
    monkeypatch.setenv("BLSNB_RECORD", str(tmp_path / "recording"))
    repository = write_models(tmp_path / "models")
    try:
        with serving(recorded_env, repository, tmp_path / "log") as running:
            yield running, file, recorder
    finally:
        pth.unlink()
        source.unlink()


def answers(running, model: str) -> list[object]:
    """Return what a client receives for a good request and one that fails."""
    found: list[object] = []
    for value in (3, -1):
        try:
            found.append(running.infer(CLIENT_MODELS.get(model, model), value).tolist())
        except InferenceServerException as error:
            found.append(error.message())
    return found


def reload(running, model: str) -> None:
    """Start a new process of a model."""
    running.client.unload_model(model)
    running.client.load_model(model)


def observed(running, file: Path) -> dict[int, str]:
    """Return the lines that were executed until now, each with a model."""
    lines: dict[int, str] = {}
    for model in MODELS:
        running.client.unload_model(model)
    for model in MODELS:
        path = file.with_name(f"fault.{model}")
        assert waiting.until(lambda path=path: path.exists() and path.read_text())
        lines |= dict.fromkeys(map(int, path.read_text().split()), model)
        running.client.load_model(model)
    return lines


def test_a_fault_in_a_line_of_the_recorder_changes_no_answer(faulty, figures):
    """Nor does it prevent a model from loading."""
    running, file, recorder = faulty
    expected = {model: answers(running, model) for model in MODELS}
    lines = observed(running, file)
    chosen = sorted(lines.keys() - unguarded_lines(recorder))
    step = 1 if ALL in os.environ else max(1, len(chosen) // SAMPLE)
    changed, missed = [], []
    for line in chosen[::step]:
        file.write_text(str(line))
        model = lines[line]
        try:
            reload(running, model)
            found = answers(running, model)
        except InferenceServerException as error:
            found = error.message()
            file.write_text("0")
            running.client.load_model(model)
        if found != expected[model]:
            changed.append((line, model, found))
        happened = file.with_name("fault.happened")
        if not happened.exists() or happened.read_text() != str(line):
            missed.append(line)

    figures(faults=len(chosen[::step]), missed=len(missed))
    assert [] == changed
    assert len(missed) < len(chosen[::step]) / 10
    assert len(chosen[::step]) >= 60
