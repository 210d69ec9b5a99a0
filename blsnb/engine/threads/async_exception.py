"""Exceptions raised in another thread."""

from __future__ import annotations

import ctypes
import functools
import operator
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
RAISE = ctypes.pythonapi.PyThreadState_SetAsyncExc
RAISE.argtypes = (ctypes.c_ulong, ctypes.py_object)
RAISE.restype = ctypes.c_int
"""Raises an exception in a thread: its identifier, and a class."""
PENDING_S = 0.005
"""Seconds that an exception may wait for its thread where it stops a debugger."""
_FIRST_S = 0.25
"""The same for the first one: a thread that the debugger stops runs each 0.2 s."""
_SIGINT = frozenset({signal.SIGINT})
_clear = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)


def raise_in(
    thread_id: int, kind: type[BaseException], is_repeated: bool = False
) -> None:
    """Raise an exception in a thread, once it runs Python code.

    Parameters
    ----------
    is_repeated
        Whether the thread has been interrupted before.
    """
    raise_if(int, thread_id, kind, is_repeated)


def raise_if(
    thread_id: Callable[[T], int],
    owner: T,
    kind: type[BaseException],
    is_repeated: bool = False,
) -> None:
    """Raise an exception in the thread that an object names; in none for 0.

    Parameters
    ----------
    thread_id
        Returns the identifier; compiled code, as an `operator.attrgetter` is.
    is_repeated
        Whether the thread has been interrupted before.
    """
    # One call of compiled code: no other thread runs during it.
    raised = map(RAISE, filter(None, map(thread_id, (owner,))), (kind,))
    if is_traced():
        raise_now: Callable[[], object] = functools.partial(list, raised)
        _raise_shortly(raise_now, thread_id(owner), is_repeated)
        return
    for _ in raised:
        return


def is_traced() -> bool:
    """Whether a debugger stands still while an exception waits for its thread.

    On Python 3.11 each traced function, of any thread, begins only when no exception is
    pending for another thread.
    """
    if sys.version_info >= (3, 12):
        return False
    return sys.gettrace() is not None or threading.gettrace() is not None


class _Dropped(BaseException):
    """Takes the place of an exception that is to be dropped."""


def _raise_shortly(
    raise_now: Callable[[], object], thread_id: int, is_repeated: bool
) -> None:
    """Raise an exception in a thread that runs Python code now, or else drop it."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGINT)
    steps: tuple[Callable[[], object], ...] = (
        raise_now,
        functools.partial(time.sleep, PENDING_S if is_repeated else _FIRST_S),
        functools.partial(_clear, thread_id, None),
        functools.partial(RAISE, threading.get_ident(), _Dropped),
    )
    # Compiled code alone: neither a function nor a signal handler begins in between.
    try:
        deque(map(operator.call, steps), maxlen=0)
    except _Dropped:
        pass
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def clear() -> None:
    """Drop an exception that was not raised in this thread yet."""
    # Until one is raised, Python 3.11 takes any for pending: each traced function
    # would then begin forever.
    try:
        RAISE(threading.get_ident(), _Dropped)
    except _Dropped:
        return


def withdraw(thread_id: int) -> None:
    """Drop an exception that was not raised in another thread yet."""
    # Without a call of `clear`, which would be such a function.
    try:
        _clear(thread_id, None)
        RAISE(threading.get_ident(), _Dropped)
    except _Dropped:
        return
