"""When an asynchronous loop over the responses of a stream cancels the request."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from blsnb.engine.threads.workers import Workers
from blsnb.results.response_stream import async_responses


class Responses:
    """A stream of three responses."""

    def __init__(self):
        self._unread = [3, 2, 1]
        self.cancels = 0

    def __next__(self):
        if not self._unread:
            raise StopIteration
        return self._unread.pop()

    def cancel(self):
        """Count the call."""
        self.cancels += 1


async def read(stream, workers, count):
    """Return the first responses, and leave the loop after them."""
    found = []
    async with aclosing(async_responses(stream, workers)) as responses:
        async for response in responses:
            found.append(response)
            if len(found) == count:
                break
    return found


@pytest.mark.parametrize(
    ("count", "found", "cancels"), [(9, [1, 2, 3], 0), (2, [1, 2], 1)]
)
def test_only_a_loop_that_is_left_early_cancels_the_request(count, found, cancels):
    """A model that works on after its last response is not cancelled."""
    stream, workers = Responses(), Workers(1, "test")

    assert found == asyncio.run(read(stream, workers, count))
    assert cancels == stream.cancels
    workers.shutdown()
