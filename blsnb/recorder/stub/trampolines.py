"""Functions that stand between the model and the Python backend.

They call what they replace exactly once, and return or raise what it does. Everything
else is in hooks, whose errors end the recording and do not leave it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from blsnb.recorder.stub.frames import without

if TYPE_CHECKING:
    from collections.abc import Callable

    Hook = Callable[..., Any]

OWN_FILE = __file__
"""The file of the frames between the model and its callers."""


def guarded(hook: Hook, failed: Hook) -> Hook:
    """Return a hook that returns None where it fails."""

    def call(*values: Any) -> Any:
        try:
            return hook(*values)
        except Exception as error:
            failed(error)
            return None

    return call


def _nothing(*values: Any) -> None:
    pass


def between(
    original: Hook, before: Hook, after: Hook = _nothing, aborted: Hook = _nothing
) -> Hook:
    """Return a function with hooks before and after the original.

    Parameters
    ----------
    before
        Receives the arguments; returns the state for the others.
    after
        Receives the state and the result.
    aborted
        Receives the state if the original raises.
    """

    @functools.wraps(original)
    def call(*values: Any, **named: Any) -> Any:
        state = before(values, named)
        try:
            result = original(*values, **named)
        except BaseException:
            aborted(state)
            raise
        after(state, result)
        return result

    return call


def rewriting(original: Hook, arguments: Hook) -> Hook:
    """Return a function whose arguments a hook may replace."""

    @functools.wraps(original)
    def call(*values: Any, **named: Any) -> Any:
        changed = arguments(values, named)
        values, named = changed or (values, named)
        return original(*values, **named)

    return call


def working(function: Hook, enter: Hook, leave: Hook) -> Hook:
    """Return the work of a thread pool with hooks around it."""

    @functools.wraps(function)
    def work(*values: Any, **named: Any) -> Any:
        token = enter()
        try:
            return function(*values, **named)
        finally:
            leave(token)

    return work


def executing(original: Hook, begin: Hook, returned: Hook, raised: Hook) -> Hook:
    """Return an ``execute`` with hooks.

    Parameters
    ----------
    begin
        Receives the arguments; returns the state for the others.
    returned
        Receives the state and the result; returns a coroutine in place of one, or None.
    raised
        Receives the state and the exception.
    """

    @functools.wraps(original)
    def execute(*values: Any, **named: Any) -> Any:
        state = begin(values)
        try:
            result = original(*values, **named)
        except BaseException as error:
            raised(state, error)
            # The same exception: it keeps its cause and context.
            raise without(OWN_FILE, error)  # noqa: B904
        replaced = returned(state, result)
        return result if replaced is None else replaced

    return execute


async def awaiting(
    coroutine: Any, state: Any, entered: Hook, returned: Hook, raised: Hook
) -> Any:
    """Await the coroutine of an ``execute`` with hooks."""
    entered(state)
    try:
        result = await coroutine
    except BaseException as error:
        raised(state, error)
        raise without(OWN_FILE, error)  # noqa: B904
    returned(state, result)
    return result
