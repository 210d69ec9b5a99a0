"""Hooks of a model class: which methods Triton calls, and which it was meant to."""

from __future__ import annotations

import difflib

HOOKS = ("auto_complete_config", "initialize", "execute", "finalize")
_ALIKE = 0.78


def note_of_names(instance: str, kind: type) -> str:
    """Return a note on methods that are called nearly as hooks; empty for none.

    Triton looks its hooks up by name, and passes over all that has another one:
    a model with an ``initialise`` loads.
    """
    missing = [hook for hook in HOOKS if not hasattr(kind, hook)]
    methods = [name for name in dir(kind) if not name.startswith("_")]
    meant = [
        f"{close[0]!r} ({hook}?)"
        for hook in missing
        if (close := difflib.get_close_matches(hook, methods, 1, _ALIKE))
        and callable(getattr(kind, close[0]))
        and close[0] not in HOOKS
    ]
    if not meant:
        return ""
    return f"Nobody calls {' or '.join(meant)} of {instance}: Triton has no such hook."
