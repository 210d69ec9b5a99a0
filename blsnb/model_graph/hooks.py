"""Check the signatures of the methods that Triton calls on a model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from blsnb.model_graph.finding import Finding
from blsnb.model_graph.sources.source import Source

_CLASS = "TritonPythonModel"
_ARGUMENTS = {
    "auto_complete_config": ("auto_complete_model_config",),
    "initialize": ("args",),
    "execute": ("requests",),
    "finalize": (),
}
"""The arguments with which Triton calls each method, without ``self``."""
_CALLED_ON_CLASS = "auto_complete_config"
_MAY_BE_COROUTINE = "execute"

_Method = ast.FunctionDef | ast.AsyncFunctionDef


def hook_findings(name: str, source: Source) -> Iterator[Finding]:
    """Yield the methods that Triton cannot call, or whose body never runs."""
    for hook in _hooks(source.tree).values():
        text = _fault(hook)
        if text:
            yield Finding(name, text, f"{source.path}:{hook.lineno}")


def _hooks(tree: ast.Module) -> dict[str, _Method]:
    """Return the methods of the model's class that Triton calls; the last one wins."""
    return {
        method.name: method
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == _CLASS
        for method in node.body
        if isinstance(method, _Method) and method.name in _ARGUMENTS
    }


def _fault(hook: _Method) -> str:
    passed = _ARGUMENTS[hook.name]
    bound = _bound_arguments(hook)
    if bound is None:
        return ""
    if not _accepts(hook.args, bound + len(passed)):
        return f"'{_signature(hook)}' does not fit: {expected_signature(hook.name)}"
    if isinstance(hook, ast.AsyncFunctionDef) and hook.name != _MAY_BE_COROUTINE:
        return (
            f"'async def {hook.name}' never runs: Triton does not await it. Write def"
        )
    return ""


def _bound_arguments(hook: _Method) -> int | None:
    """Return the number of arguments that Python adds; None for other decorators."""
    decorators = [ast.unparse(each) for each in hook.decorator_list]
    match decorators:
        case []:
            return 0 if hook.name == _CALLED_ON_CLASS else 1
        case ["staticmethod"]:
            return 0
        case ["classmethod"]:
            return 1
    return None


def _accepts(arguments: ast.arguments, count: int) -> bool:
    """Whether a function can be called with a number of positional arguments."""
    positional = len(arguments.posonlyargs) + len(arguments.args)
    required = positional - len(arguments.defaults)
    is_enough = count <= positional or arguments.vararg is not None
    return required <= count and is_enough and None not in arguments.kw_defaults


def _signature(hook: _Method) -> str:
    kind = "async def" if isinstance(hook, ast.AsyncFunctionDef) else "def"
    return f"{kind} {hook.name}({ast.unparse(hook.args)})"


def expected_signature(name: str) -> str:
    """Return how Triton calls a method of models, and how to define it."""
    passed = _ARGUMENTS[name]
    definition = f"def {name}({', '.join(('self', *passed))})"
    if name == _CALLED_ON_CLASS:
        definition = f"@staticmethod and def {name}({', '.join(passed)})"
    return f"Triton calls {name}({', '.join(passed)}). Write {definition}"
