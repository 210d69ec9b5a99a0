"""Specification of edits: small, valid, repeatable."""

from __future__ import annotations

from asserting import some

from .edits import Edit, is_valid, of_python, of_typescript

PYTHON = '''"""A docstring 1."""
import os

def f(x: int = 3) -> "int":
    """Another one, with 2."""
    if not (x + 1) < 4 and x is None:
        raise ValueError("é", x, f"a {x} b")
    return True
'''
TYPESCRIPT = """/** Not 1. */
import { a } from "./b2.ts";
type T = 1 | 2;
export const c = (x: number): boolean => x <= 3 && !(Math.max(x, 1) === a - 1); // 5
"""


def test_executed_parts_of_a_python_source_are_edited():
    """Operators, conditions, constants and statements; no types, no docstrings."""
    texts = [PYTHON[each.start : each.end] for each in of_python(PYTHON)]

    assert {"3", "not ", "+", "1", "<", "4", "and", "is", '"é"', "True"} <= {*texts}
    assert {'raise ValueError("é", x, f"a {x} b")', " b"} <= {*texts}
    assert not {"2", "int", "import os"} & {*texts}


def test_executed_parts_of_a_typescript_source_are_edited():
    """Operators, numbers and calls; no comments, imports or types."""
    texts = [TYPESCRIPT[each.start : each.end] for each in of_typescript(TYPESCRIPT)]

    assert ["<=", "3", "&&", "!", "Math.max", "1", "===", "-", "1"] == texts


def test_every_edit_changes_a_line_and_leaves_a_valid_source():
    """Any test would notice an edit that does not compile."""
    for edit in some(of_python(PYTHON)):
        assert PYTHON != edit.applied(PYTHON)
        assert is_valid(edit, PYTHON)
    assert not is_valid(Edit(0, 0, "("), PYTHON)
