"""A folder and cells, changed at random: they agree in the end, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

import blsnb
from blsnb.errors import RepositoryError
from blsnb.parts import following
from blsnb.parts.server_parts import parts_of

NAMES = st.sampled_from(["a", "b"])
VALUES = st.integers(0, 3)
ENDS = st.sampled_from(["\n", "\r\n"])
CONFIG = """
backend: "python"
input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
"""
SOURCE = """import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        y = pb_utils.Tensor("Y", np.array([VALUE], np.float32))
        return [pb_utils.InferenceResponse([y]) for _ in requests]
"""


def source(value):
    return SOURCE.replace("VALUE", str(value))


class BothWays(RuleBasedStateMachine):
    """A repository of two models, its server, and what each should hold."""

    def __init__(self):
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="blsnb-both-ways-"))
        self.folder = {"a": 0, "b": 0}
        self.form = {"a": "\n", "b": "\n"}
        self.cell = {"a": None, "b": None}
        self.base = {"a": 0, "b": 0}
        for name in self.folder:
            (self.home / name / "1").mkdir(parents=True)
            (self.home / name / "config.pbtxt").write_text(CONFIG)
            self.file(name).write_text(source(0))
        self.patch = mock.patch.object(following, "_PAUSE_S", 0.001)
        self.patch.start()
        self.server = blsnb.Server(trace_level="off")
        self.server.import_repository(self.home, watch=True)

    def file(self, name):
        return self.home / name / "1" / "model.py"

    def text(self, name):
        return self.file(name).read_bytes().decode()

    @rule(name=NAMES, value=VALUES, end=ENDS)
    def save_outside(self, name, value, end):
        """An editor saves the file, by renaming a new one into place."""
        beside = self.file(name).with_name(".model.py.new")
        beside.write_bytes(source(value).replace("\n", end).encode())
        os.replace(beside, self.file(name))
        self.folder[name], self.form[name] = value, end
        parts_of(self.server).following.poll()
        self.follow(name)

    @rule(name=NAMES, value=VALUES)
    def redefine(self, name, value):
        """A cell defines the model."""
        if self.cell[name] is None:
            self.base[name] = self.folder[name]
        self.cell[name] = value
        parts_of(self.server).models.change(name, {"1/model.py": source(value)})
        parts_of(self.server).following.poll()
        self.follow(name)

    def follow(self, name):
        """Let the folder win where no cell differs from what it was made from."""
        if self.cell[name] is None or self.folder[name] == self.base[name]:
            return
        if self.cell[name] == self.base[name]:
            self.cell[name] = None
        elif self.cell[name] == self.folder[name]:
            self.base[name] = self.folder[name]

    def is_changed(self, name):
        return self.cell[name] not in (None, self.base[name])

    def is_stale(self, name):
        differs = self.folder[name] not in (self.base[name], self.cell[name])
        return self.is_changed(name) and differs

    @rule(force=st.booleans())
    def export_in_place(self, force):
        """All cells are written back, or none."""
        if not force and any(map(self.is_stale, self.cell)):
            with pytest.raises(RepositoryError, match="Nothing was written"):
                self.server.export_repository(in_place=True)
            return
        done = self.server.export_repository(in_place=True, force=force)
        written = [name for name in self.cell if self.is_changed(name)]
        assert written == sorted(done.models)
        for name in written:
            self.folder[name] = self.base[name] = self.cell[name]

    @invariant()
    def files_and_models_are_as_they_should_be(self):
        """The folder holds what was written last; the right text serves."""
        for name, value in self.folder.items():
            assert value == int(self.text(name).partition("array([")[2][0])
            expected = value if self.cell[name] is None else self.cell[name]
            run = self.server.infer(name, {"X": [1.0]})
            assert [expected] == run["Y"].tolist(), name
            status = self.server.model(name)
            assert self.is_changed(name) == bool(status.differs)
            entries = {each.name for each in self.file(name).parent.iterdir()}
            assert entries <= {"model.py", "__pycache__"}

    def teardown(self):
        self.server.close()
        self.patch.stop()
        shutil.rmtree(self.home)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("steps", "examples"), [(25, 4), pytest.param(50, 60, marks=pytest.mark.slow)]
)
def test_folder_and_cells_agree_whatever_happens(steps, examples, figures):
    """Imports, saves, redefinitions and exports in place, in any order."""
    chosen = settings(
        stateful_step_count=steps, max_examples=examples, deadline=None, database=None
    )
    run_state_machine_as_test(BothWays, settings=chosen)
    figures(sequences_of_changes=examples)
