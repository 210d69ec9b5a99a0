"""Tab and Shift+Tab in a shell; the first key imports what they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.core.completer import context_matcher


@context_matcher()
def complete_triton(context: Any) -> dict[str, Any]:
    """Complete a line of a magic of blsnb; ignore other lines."""
    from blsnb.magics.completion.line_completion import completions

    return completions(context)


@context_matcher(identifier="blsnb.configuration")
def complete_configuration(context: Any) -> dict[str, Any]:
    """Complete fields, enumerators and booleans; ignore other cells."""
    from blsnb.magics.completion.config_completion import completions

    return completions(context)


def _string_matcher(shell: Any) -> Any:
    @context_matcher(identifier="blsnb.names_in_strings")
    def complete_strings(context: Any) -> dict[str, Any]:
        from blsnb.magics.completion.string_completion import completions

        return completions(context, shell.user_ns)

    return complete_strings


def register(shell: Any) -> Callable[[], None]:
    """Answer both keys; return a function that stops it."""
    matchers = shell.Completer.custom_matchers
    ours = [complete_triton, complete_configuration, _string_matcher(shell)]
    matchers.extend(ours)
    stop_inspecting = _inspect(shell)

    def unregister() -> None:
        matchers[:] = [each for each in matchers if each not in ours]
        stop_inspecting()

    return unregister


def _inspect(shell: Any) -> Callable[[], None]:
    """Answer Shift+Tab in cells of models; return a function that stops it."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return lambda: None
    original = kernel.do_inspect

    def do_inspect(
        code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()
    ) -> Any:
        from blsnb.magics.completion.config_completion import field_documentation
        from blsnb.magics.completion.inspection import documentation

        text = documentation(code, cursor_pos) or field_documentation(code, cursor_pos)
        if not text:
            return original(code, cursor_pos, detail_level, omit_sections)
        return {
            "status": "ok",
            "found": True,
            "data": {"text/plain": text},
            "metadata": {},
        }

    kernel.do_inspect = do_inspect

    def unregister() -> None:
        if kernel.__dict__.get("do_inspect") is do_inspect:
            del kernel.do_inspect

    return unregister
