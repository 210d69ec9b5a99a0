"""Exceptions raised in another thread."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
RAISE = ctypes.pythonapi.PyThreadState_SetAsyncExc
RAISE.argtypes = (ctypes.c_ulong, ctypes.py_object)
RAISE.restype = ctypes.c_int
"""Raises an exception in a thread: its identifier, and a class."""
_clear = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)


def raise_in(thread_id: int, kind: type[BaseException]) -> None:
    """Raise an exception in a thread, once it runs Python code."""
    RAISE(thread_id, kind)


def raise_if(
    thread_id: Callable[[T], int], owner: T, kind: type[BaseException]
) -> None:
    """Raise an exception in the thread that an object names; in none for 0.

    Parameters
    ----------
    thread_id
        Returns the identifier; compiled code, as an `operator.attrgetter` is.
    """
    # One call of compiled code: no other thread runs during it.
    for _ in map(RAISE, filter(None, map(thread_id, (owner,))), (kind,)):
        return


class _Dropped(BaseException):
    """Takes the place of an exception that is to be dropped."""


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
    _clear(thread_id, None)
    clear()
