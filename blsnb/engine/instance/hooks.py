"""Hooks of a model class: notes on misspelled names, and ``is_ready``."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from blsnb.engine.instance.event_loop import LoopEnded
from blsnb.engine.instance.instance_threads import InstanceThreads
from blsnb.engine.request.failure import describe
from blsnb.engine.threads.outcome import Outcome
from blsnb.errors import OutOfResourcesError

HOOKS = ("auto_complete_config", "initialize", "execute", "finalize")
_ALIKE = 0.78


def note_of_names(instance: str, kind: type) -> str:
    """Return a note on methods that look like misspelled hooks; empty without any.

    Triton looks hooks up by name, so that a model with an ``initialise`` loads.
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
    return f"Triton never calls {' or '.join(meant)} of {instance}: it is not a hook."


def has_hook(model: object, name: str) -> bool:
    """Whether a model has a hook, as far as known without running its code."""
    dynamic = any("__getattr__" in vars(kind) for kind in type(model).__mro__)
    return dynamic or inspect.getattr_static(model, name, None) is not None


_PATIENCE_S = 5.0


def unready(name: str, hook: Callable[[], Any], threads: InstanceThreads) -> str:
    """Call a model's ``is_ready``; return why it is not ready, or an empty string.

    It runs on another thread than ``execute``; a coroutine runs on the instance's event
    loop.

    References
    ----------
    python_backend: src/pb_stub.cc, user-defined is_ready()
    """
    outcome = Outcome()
    try:
        threads.fan_out().submit(outcome.settle, lambda: _ask(hook, threads))
    except OutOfResourcesError as error:
        return error.message
    if not outcome.waiter.wait(_PATIENCE_S) or isinstance(outcome.error, LoopEnded):
        return "Timed out waiting for user-defined is_ready() response"
    if outcome.error is not None:
        return describe(outcome.error, _ask.__code__)
    if not isinstance(outcome.result, bool):
        return "is_ready() must return a boolean value"
    if not outcome.result:
        return f"Model '{name}' is not ready (user-defined check failed)."
    return ""


def _ask(hook: Callable[[], Any], threads: InstanceThreads) -> Any:
    answer = hook()
    if inspect.iscoroutine(answer):
        return threads.loop.run_for(answer, _PATIENCE_S)
    return answer
