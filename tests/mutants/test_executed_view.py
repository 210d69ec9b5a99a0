"""Specification of the record of what each JavaScript test executes."""

from __future__ import annotations

import json
import os
import subprocess

from . import executed_view
from .edits import Edit
from .executed_view import is_executed, node, scripts_of, view_tests_of
from .sampling import Mutant

SOURCE = "export const f = (x: boolean): number => {\n  return x ? 1 : 2;\n};\n"
TEST = 'import { f } from "../src/a.ts";\nf(true);\n'


def test_the_executed_blocks_of_each_source_are_read(tmp_path):
    """Positions are those of TypeScript, whose types Node only blanks out."""
    for name, text in {"src/a.ts": SOURCE, "test/a.test.ts": TEST}.items():
        (tmp_path / "js" / name).parent.mkdir(parents=True)
        (tmp_path / "js" / name).write_text(text)
    subprocess.run(
        [node(), "js/test/a.test.ts"],
        cwd=tmp_path,
        env=os.environ | {"NODE_V8_COVERAGE": str(tmp_path / "coverage")},
        check=True,
    )
    [file] = (tmp_path / "coverage").iterdir()
    scripts = dict(scripts_of(json.loads(file.read_bytes()), tmp_path))

    assert {"js/src/a.ts", "js/test/a.test.ts"} == {*scripts}
    ranges = scripts["js/src/a.ts"]
    parts = {text: is_executed(ranges, SOURCE.index(text)) for text in ("1", "2", "f")}
    assert {"1": True, "2": False, "f": True} == parts


def test_an_edit_needs_the_tests_that_execute_its_block(monkeypatch):
    """A file that only loads the source is left out."""
    rows = {"a.test.ts": [(0, 9, 1), (3, 6, 0)], "b.test.ts": [(0, 9, 1), (3, 6, 2)]}
    monkeypatch.setattr(executed_view, "recorded", lambda: {"js/src/a.ts": rows})

    assert ["b.test.ts"] == view_tests_of(Mutant("js/src/a.ts", Edit(4, 5, "")))
    assert [*rows] == view_tests_of(Mutant("js/src/a.ts", Edit(7, 8, "")))
    assert [] == view_tests_of(Mutant("js/src/b.ts", Edit(4, 5, "")))
