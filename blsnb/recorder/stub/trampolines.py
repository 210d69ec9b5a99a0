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


def attempt(failed: Hook, hook: Hook, *values: Any) -> Any:
    """Return what a hook returns; None if it fails."""
    try:
        return hook(*values)
    except Exception as error:
        failed(error)
        return None


def guarded(hook: Hook, failed: Hook) -> Hook:
    """Return a hook that returns None where it fails."""
    return functools.partial(attempt, failed, hook)


def _nothing(*values: Any) -> None:
    pass


def between(
    original: Hook,
    failed: Hook,
    before: Hook,
    after: Hook = _nothing,
    aborted: Hook = _nothing,
) -> Hook:
    """Return a function with hooks before and after the original.

    Parameters
    ----------
    failed
        Receives the error of a hook.
    before
        Receives the arguments; returns the state for the others, or None if they have
        nothing to do.
    after
        Receives the state and the result.
    aborted
        Receives the state if the original raises.
    """

    @functools.wraps(original)
    def call(*values: Any, **named: Any) -> Any:
        state = None
        try:
            state = before(values, named)
        except Exception as error:
            failed(error)
        if state is None:
            return original(*values, **named)
        try:
            result = original(*values, **named)
        except BaseException:
            attempt(failed, aborted, state)
            raise
        attempt(failed, after, state, result)
        return result

    return call


def rewriting(original: Hook, failed: Hook, arguments: Hook) -> Hook:
    """Return a function whose arguments a hook may replace.

    Parameters
    ----------
    failed
        Receives the error of the hook.
    arguments
        Receives the arguments; returns others, or None for the same.
    """

    @functools.wraps(original)
    def call(*values: Any, **named: Any) -> Any:
        try:
            values, named = arguments(values, named) or (values, named)
        except Exception as error:
            failed(error)
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


def executing(
    original: Hook, failed: Hook, begin: Hook, returned: Hook, raised: Hook
) -> Hook:
    """Return an ``execute`` with hooks.

    Parameters
    ----------
    failed
        Receives the error of a hook.
    begin
        Receives the arguments; returns the state for the others.
    returned
        Receives the state and the result; returns a coroutine in place of one, or None.
    raised
        Receives the state and the exception.
    """

    @functools.wraps(original)
    def execute(*values: Any, **named: Any) -> Any:
        state = replaced = None
        try:
            state = begin(values)
        except Exception as error:
            failed(error)
        try:
            result = original(*values, **named)
        except BaseException as error:
            attempt(failed, raised, state, error)
            # The same exception: it keeps its cause and context.
            raise without(OWN_FILE, error)  # noqa: B904
        try:
            replaced = returned(state, result)
        except Exception as error:
            failed(error)
        return result if replaced is None else replaced

    return execute


async def awaiting(
    coroutine: Any,
    failed: Hook,
    state: Any,
    entered: Hook,
    returned: Hook = _nothing,
    raised: Hook = _nothing,
) -> Any:
    """Await the coroutine of an ``execute`` with hooks."""
    attempt(failed, entered, state)
    try:
        result = await coroutine
    except BaseException as error:
        attempt(failed, raised, state, error)
        raise without(OWN_FILE, error)  # noqa: B904
    attempt(failed, returned, state, result)
    return result
