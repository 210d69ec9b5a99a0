"""Messages between a server's process and its workers, arrays as raw buffers.

Messages are pickled: both ends are this package, on a pipe that no other process has.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from blsnb.evaluation.plain import Row, RowResult

UNSENT_CODE = "INVALID_ARG"
"""Code of a row with inputs that cannot be sent to another process."""
_APART_BYTES = 4096
"""Size from which a buffer is sent without being copied."""


def send(connection: Connection[Any, Any], message: object) -> None:
    """Send a message over one end of a pipe.

    Raises
    ------
    OSError
        The other end is closed.
    Exception
        A part of the message cannot be pickled; nothing was sent.
    """
    payload, buffers = dumped(message)
    sizes = [len(payload), *(each.nbytes for each in buffers)]
    connection.send_bytes(np.array(sizes, np.int64).tobytes())
    connection.send_bytes(payload)
    for each in buffers:
        connection.send_bytes(each)


def receive(connection: Connection[Any, Any]) -> Any:
    """Wait for a message and return it; its arrays may be changed.

    Raises
    ------
    EOFError, OSError
        The other end is closed, or its process has ended.
    """
    payload_size, *sizes = np.frombuffer(connection.recv_bytes(), np.int64).tolist()
    payload = connection.recv_bytes(payload_size)
    buffers = []
    for size in sizes:
        buffer = np.empty(size, np.uint8)
        connection.recv_bytes_into(buffer.data)
        buffers.append(buffer)
    return pickle.loads(payload, buffers=buffers)


def dumped(message: object) -> tuple[bytes, list[memoryview]]:
    """Return a pickled message, and its large buffers apart.

    Raises
    ------
    Exception
        A part of the message cannot be pickled; classes raise errors of any type.
    """
    buffers: list[memoryview] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < _APART_BYTES:
            return True
        buffers.append(raw)
        return False

    return pickle.dumps(message, 5, buffer_callback=is_small), buffers


def divide_sendable(
    rows: Iterable[Row],
) -> tuple[tuple[Row, ...], list[RowResult]]:
    """Return the rows that can be sent, and the results of the others."""
    good, unsent = [], []
    for row in rows:
        if why := _why_unsent(row):
            unsent.append(RowResult(row.number, error=why, code=UNSENT_CODE))
        else:
            good.append(row)
    return tuple(good), unsent


def _why_unsent(row: Row) -> str:
    """Return why a row cannot be sent to another process; empty if it can."""
    for name, value in row.inputs.items():
        try:
            dumped(value)
        except Exception as error:
            return f"input {name!r} cannot be sent to another process: {error}"
    return ""
