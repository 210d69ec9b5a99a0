"""Futures of an event loop that threads of a pool settle."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from blsnb.engine.threads.workers import Workers

WAIT_S = 30.0


@pytest.fixture
def workers() -> Iterator[Workers]:
    """A pool of one thread."""
    pool = Workers(1, "one")
    yield pool
    pool.shutdown()


def test_the_result_reaches_the_loop(workers: Workers) -> None:
    """The work runs on a thread of the pool."""

    async def main() -> threading.Thread:
        found: threading.Thread = await workers.submit_async(threading.current_thread)
        return found

    assert workers.has(asyncio.run(main()))


def test_the_result_reaches_a_loop_of_another_thread(workers: Workers) -> None:
    """Ctrl-C never arrives there, so that it is not woken regularly."""

    async def main() -> int:
        return await asyncio.wait_for(workers.submit_async(lambda: 7), WAIT_S)

    with ThreadPoolExecutor(1) as other:
        assert 7 == other.submit(asyncio.run, main()).result()


def test_an_exception_reaches_the_loop(workers: Workers) -> None:
    """It is the same object."""
    error = ValueError("no")

    def fail() -> None:
        raise error

    async def main() -> None:
        await workers.submit_async(fail)

    with pytest.raises(ValueError, match="no") as caught:
        asyncio.run(main())
    assert error is caught.value


def test_cancelled_work_that_waits_for_a_thread_never_begins(workers: Workers) -> None:
    """Work that has begun ends, and its result is dropped."""
    begun, end = threading.Event(), threading.Event()
    ran: list[str] = []
    errors: list[object] = []

    def first() -> None:
        begun.set()
        assert end.wait(WAIT_S)
        ran.append("first")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: errors.append(context))
        running = workers.submit_async(first)
        waiting = workers.submit_async(lambda: ran.append("second"))
        assert begun.wait(WAIT_S)
        for each in (running, waiting):
            each.cancel()
            with pytest.raises(asyncio.CancelledError):
                await each
        end.set()
        await workers.submit_async(lambda: ran.append("third"))

    asyncio.run(main())
    assert ["first", "third"] == ran
    assert [] == errors


def test_a_closed_pool_cancels_work_that_waits(workers: Workers) -> None:
    """Its task does not wait forever."""
    begun, end = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        end.wait(WAIT_S)

    async def main() -> None:
        running = workers.submit_async(first)
        waiting = workers.submit_async(lambda: None)
        assert begun.wait(WAIT_S)
        workers.shutdown(cancel_futures=True, wait=False)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(waiting, WAIT_S)
        end.set()
        await running

    asyncio.run(main())


def test_a_thread_survives_the_end_of_the_loop(workers: Workers) -> None:
    """Nobody waits for its result any more."""
    begun, end = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        end.wait(WAIT_S)

    async def main() -> None:
        workers.submit_async(slow)
        assert begun.wait(WAIT_S)

    asyncio.run(main())
    end.set()
    assert 1 == workers.submit(lambda: 1).result(WAIT_S)


def test_a_callback_of_a_signal_handler_is_called_while_the_loop_waits(
    workers: Workers,
) -> None:
    """In this way the kernel's handler of Ctrl-C cancels the coroutine of a cell."""
    begun, go = threading.Event(), threading.Event()
    ended: list[bool] = []

    def work() -> None:
        begun.set()
        ended.append(go.wait(5))

    def press() -> None:
        begun.wait(WAIT_S)
        os.kill(os.getpid(), signal.SIGINT)

    async def cell() -> list[bool]:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        signal.signal(signal.SIGINT, lambda *_: loop.call_soon(task.cancel) and None)
        threading.Thread(target=press).start()
        with pytest.raises(asyncio.CancelledError):
            await workers.submit_async(work)
        return ended.copy()

    before = signal.getsignal(signal.SIGINT)
    try:
        assert [] == asyncio.run(cell())
    finally:
        signal.signal(signal.SIGINT, before)
        go.set()
