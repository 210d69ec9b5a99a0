"""Specification of the record of what each test executes."""

from __future__ import annotations

import os
import subprocess
import sys

from . import executed
from .edits import Edit
from .executed import executing, instrument, lines_of, recorded_tests
from .sampling import ROOT, Mutant

SOURCE = '''"""A module."""
from __future__ import annotations

def plain():
    """Return one."""
    return 1

class C:
    def method(self):
        return [plain() for _ in range(3)]

print(C().method())
'''
ARGUMENTS = "blsnb/arguments.py"


def at(path, text):
    start = (ROOT / path).read_text(encoding="utf-8").index(text)
    return Mutant(path, Edit(start, start, ""))


def test_each_function_reports_the_test_that_executes_it(tmp_path):
    """Once for each test; the answers stay the same, and the sources untouched."""
    (tmp_path / "blsnb").mkdir()
    (tmp_path / "blsnb" / "__init__.py").touch()
    (tmp_path / "blsnb" / "a.py").write_text(SOURCE)
    instrument(tmp_path)
    variables = {
        "BLSNB_CALLS": str(tmp_path),
        "PYTEST_CURRENT_TEST": "t.py::x[1] (call)",
    }
    ran = subprocess.run(
        [sys.executable, "-c", "import os, blsnb.a; print(os.getpid())"],
        cwd=tmp_path,
        env=os.environ | variables | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=True,
        text=True,
    )
    answer, process = ran.stdout.splitlines()

    assert "[1, 1, 1]" == answer
    assert [
        ("blsnb/a.py::C::method", "t.py::x"),
        ("blsnb/a.py::plain", "t.py::x"),
    ] == [*lines_of(tmp_path / process)]
    assert SOURCE == (tmp_path / "blsnb" / "a.py").read_text()


def test_what_a_set_up_executes_counts_for_its_file(tmp_path):
    """Later tests of the file may use the same fixture."""
    (tmp_path / "1").write_text("\n\tt.py::x (setup)\nf\n\tt.py::x (call)\ng\n\t\nh\n")

    assert [("f", "t.py"), ("g", "t.py::x")] == [*lines_of(tmp_path / "1")]


def test_an_edit_in_a_function_needs_its_tests():
    """Also an edit of a default."""
    assert {f"{ARGUMENTS}::did_you_mean"} == executing(at(ARGUMENTS, "by_lower = "))
    assert {f"{ARGUMENTS}::check_type"} == executing(at(ARGUMENTS, "= TypeError"))


def test_an_edit_of_a_value_needs_the_tests_of_what_mentions_it():
    """Also where it is imported."""
    found = executing(at("blsnb/model/backend_fields.py", "MODEL_FILENAME ="))

    assert "blsnb/model_graph/ensemble_trial.py::try_as_ensemble" in found
    assert "blsnb/model_graph/ensemble_trial.py::_free_name" not in found


def test_a_file_stands_for_all_of_its_tests(monkeypatch):
    """Its other tests may use what its first one set up."""
    tests = ("a.py::x", "b.py", "b.py::y", "c.py")
    keys = executing(at(ARGUMENTS, "by_lower = "))
    monkeypatch.setattr(executed, "recorded", lambda: dict.fromkeys(keys, tests))

    assert ["a.py::x", "b.py", "c.py"] == recorded_tests(at(ARGUMENTS, "by_lower = "))
