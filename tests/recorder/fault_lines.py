"""Lines of the recorder in which no fault can be caught."""

from __future__ import annotations

import ast

UNGUARDED = (
    *("between", "rewriting", "working", "executing", "awaiting", "attempt"),
    *("find_spec", "exec_module", "build"),
)
"""Functions that call the model or the backend: only their hooks can be guarded."""
HANDLING = ("fail", "report", "restore", "abandon", "without", "_not_recorded")
"""Functions that run after a fault."""
REPEATED = (
    *("with_places", "_placed", "places_of"),
    *("_caller", "_deepest", "_frame"),
)
"""Functions that are called again after a fault; the recording continues."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def unguarded_lines(path):
    """Return the lines of the model's own calls, and those that run after a fault."""
    with open(path) as file:
        lines = file.read().splitlines()
    # Nothing can fail in the line of `try` itself.
    found = {n for n, line in enumerate(lines, 1) if line.strip() == "try:"}
    tree = ast.parse("\n".join(lines))
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.name in (*UNGUARDED, *HANDLING):
            found |= lines_of(node) - hook_lines(node)
        elif isinstance(node, ast.ExceptHandler):
            found |= lines_of(node)
    return found


def named_lines(path, names):
    """Return the lines of some functions."""
    with open(path) as file:
        tree = ast.parse(file.read())
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS) and node.name in names
        for line in lines_of(node)
    }


def hook_lines(function):
    """Return the guarded lines of a function that calls the model or the backend."""
    if function.name in HANDLING:
        return set()
    return {
        line
        for node in ast.walk(function)
        if isinstance(node, ast.Try) and node.handlers
        if getattr(node.handlers[0].type, "id", "") == "Exception"
        for each in node.body
        for line in lines_of(each)
    }


def lines_of(node):
    """Return the lines of a statement."""
    return set(range(node.lineno, node.end_lineno + 1))
