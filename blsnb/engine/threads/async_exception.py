"""Exceptions raised in another thread."""

from __future__ import annotations

import ctypes
import threading

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


def clear() -> None:
    """Drop an exception that was not raised in this thread yet."""
    _clear(threading.get_ident(), None)
