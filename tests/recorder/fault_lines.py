"""Lines of the recorder in which no fault can be caught."""

from __future__ import annotations

import ast

UNGUARDED = ("between", "rewriting", "working", "executing", "awaiting", "guarded")
"""Functions that call the model or the backend: their own lines cannot be guarded."""
HANDLING = ("fail", "report", "restore", "abandon", "without")
"""Functions that run after a fault."""


def unguarded_lines(path):
    """Return the lines of the model's own calls, and those that run after a fault."""
    with open(path) as file:
        lines = file.read().splitlines()
    # Nothing can fail in the line of `try` itself.
    found = {n for n, line in enumerate(lines, 1) if line.strip() == "try:"}
    tree = ast.parse("\n".join(lines))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name not in (*UNGUARDED, *HANDLING):
                continue
        elif not isinstance(node, ast.ExceptHandler):
            continue
        found.update(range(node.lineno, node.end_lineno + 1))
    return found
