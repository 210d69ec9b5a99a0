"""Find empty assertions, pauses and obscure phrases in sources."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
REPOSITORIES = TESTS / "repositories"
"""Sources of models, which are not checked."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
SHORT_S = 1
"""A wait with a shorter limit is a pause, since its event may come later."""
SLEEPS = ("time.sleep", "asyncio.sleep", ".wait_for_timeout")
HELPERS = ("sleep", "pause")
"""Names of functions that do nothing but pause."""
_LAST_NAMES = {*HELPERS, "wait", "wait_for_timeout"}
_PASSED_ON = ("enumerate", "sorted", "reversed", "list", "zip", "map", "range", "some")
_OBSCURE = re.compile(
    r"\b(?:(?:is|are) (?:none|told)|who(?:ever)? asks?|whoever|nobody|somebody|"
    r"for ever|so many|made anew|word for word|meanwhile|(?:comes|came) back|"
    r"(?:goes|serves) on)\b"
)
_VIEWS = ("items", "values", "keys", "split")


def files() -> Iterator[Path]:
    """Yield every source file of the tests, helpers included."""
    for path in sorted(TESTS.rglob("*.py")):
        if REPOSITORIES not in path.parents:
            yield path


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of a file; parsing it once serves several checks."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def functions(path: Path) -> list[Function]:
    """Return all functions of a file, nested ones included."""
    return [node for node in _nodes(path) if isinstance(node, Function)]


def forget() -> None:
    """Release the nodes of all files: millions of objects."""
    for kept in (_nodes, functions, _constants):
        kept.cache_clear()


def obscure(text: str) -> list[str]:
    """Return phrases of a text for which there is a plain one."""
    return _OBSCURE.findall(" ".join(text.replace("#", " ").split()))


def obscure_in(path: Path) -> Iterator[str]:
    """Yield line and phrase of obscure docstrings and comments of a file."""
    if not obscure(path.read_text(encoding="utf-8")):
        return
    for node in _nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for phrase in obscure(str(node.value.value)):
                yield f"{node.lineno}: {phrase}"
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                for phrase in obscure(token.string):
                    yield f"{token.start[0]}: {phrase}"


def vacuous(test: Function) -> Iterator[ast.AST]:
    """Yield assertions of a test that hold for an empty collection.

    Hypothesis may draw empty examples, and inner loops may be empty.
    """
    if any("given" in ast.unparse(each) for each in test.decorator_list):
        return
    parameters = {each.arg for each in (*test.args.args, *test.args.kwonlyargs)}
    inner = {
        below
        for loop in ast.walk(test)
        if isinstance(loop, ast.For)
        for below in ast.walk(loop)
        if below is not loop
    }
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            for call in ast.walk(node.test):
                if _is_all(call) and not holds_elements(call.args[0], set()):
                    yield call
        elif isinstance(node, ast.For) and node not in inner:
            asserts = any(isinstance(each, ast.Assert) for each in ast.walk(node))
            if asserts and not holds_elements(node.iter, parameters):
                yield node


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "all"


def holds_elements(node: ast.expr, parameters: set[str]) -> bool:
    """Return whether the source of a collection shows that it has elements.

    It does for a display, a constant, a parameter of the test, and `some`.
    """
    match node:
        case ast.List() | ast.Tuple() | ast.Set():
            return bool(node.elts)
        case ast.Dict():
            return bool(node.keys)
        case ast.Constant():
            return bool(node.value)
        case ast.Name(name):
            return name.isupper() or name in parameters
        case ast.Attribute(attr=name):
            return name.isupper()
        case ast.Subscript(value):
            return holds_elements(value, parameters)
        case ast.GeneratorExp(generators=[each]) | ast.ListComp(generators=[each]):
            return not each.ifs and holds_elements(each.iter, parameters)
        case ast.Call(func=ast.Name("some" | "range")):
            return True
        case ast.Call(func=ast.Name(name), args=given) if name in _PASSED_ON:
            return any(holds_elements(each, parameters) for each in given)
        case ast.Call(func=ast.Attribute(value, name)) if name in _VIEWS:
            return holds_elements(value, parameters)
        case ast.Call(func=ast.Attribute(attr=name), args=given):
            return any(holds_elements(each, parameters) for each in given)
    return False


def swapped(path: Path) -> Iterator[int]:
    """Yield the lines of assertions ``actual == expected``, with a literal at the end.

    A literal beside `or` may be a condition of the test.
    """
    for node in _nodes(path):
        if isinstance(node, ast.Assert):
            parts = [node.test]
            if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
                parts = node.test.values
            yield from (each.lineno for each in parts if _ends_in_literal(each))


def _ends_in_literal(node: ast.expr) -> bool:
    match node:
        case ast.Compare(left, [ast.Eq()], [right]):
            return _is_literal(right) and not _is_literal(left)
    return False


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return isinstance(node, ast.JoinedStr)
    return True


def pausing() -> Iterator[tuple[str, str]]:
    """Yield file and text of every call that pauses, also in helpers."""
    for path in files():
        limits = _constants(path)
        for node in _nodes(path):
            if isinstance(node, ast.Call) and is_pause(node, limits):
                yield str(path.relative_to(TESTS)), ast.unparse(node)


def is_pause(call: ast.Call, limits: dict[str, float]) -> bool:
    """Return whether a call sleeps, or waits with too short a limit."""
    last = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if last not in _LAST_NAMES:
        return False
    name, given = ast.unparse(call.func), [*call.args]
    if name.endswith(SLEEPS) or name in HELPERS:
        return [ast.unparse(each) for each in given] != ["0"]
    given += [each.value for each in call.keywords if each.arg == "timeout"]
    if not name.endswith(".wait") or not given:
        return False
    if name.endswith("Event().wait"):
        return True
    match given[0]:
        case ast.Constant(limit):
            return isinstance(limit, int | float) and 0 < limit < SHORT_S
        case ast.Name(id):
            return limits.get(id, SHORT_S) < SHORT_S
        case ast.BinOp():
            return True
    return False


@cache
def _constants(path: Path) -> dict[str, float]:
    """Return a module's named numbers."""
    module = _nodes(path)[0]
    assert isinstance(module, ast.Module)
    return {
        target.id: node.value.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, int | float)
    }
