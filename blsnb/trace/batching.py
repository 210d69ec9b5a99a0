"""With whom a call was executed, and why not with others: kept while it waits."""

from __future__ import annotations

from typing import NamedTuple

_MOST = 16
"""How much of it one call keeps: the beginning and the end."""


class Batching(NamedTuple):
    """Why a call was part of an ``execute``, or why it was not.

    Parameters
    ----------
    execution
        Number of that ``execute``; calls that it ran have it as `Span.execution`.
    joined
        Whether the call was part of it.
    cause
        The kind of the reason, by which it is counted.
    words
        The reason with its numbers and names: of a call that joined, why the batch
        left when it did.
    runs
        The runs whose requests joined, where they are several.
    times
        For how many executions one after the other that was so; this is the last.
    """

    execution: int
    joined: bool
    cause: str
    words: str
    runs: tuple[str, ...] = ()
    times: int = 1

    def __str__(self) -> str:
        if self.joined:
            return self.words
        before = f" and {self.times - 1} before" if self.times > 1 else ""
        return f"not with execution {self.execution}{before}: {self.words}"

    def is_like(self, other: Batching) -> bool:
        """Whether the same happened for the same reason."""
        return self[1:4] == other[1:4]


def added(known: list[Batching] | None, new: Batching) -> list[Batching]:
    """Add to what is known of a call; what happens again and again is counted."""
    if known is None:
        return [new]
    if known[-1].is_like(new):
        known[-1] = new._replace(times=known[-1].times + 1)
        return known
    known.append(new)
    if len(known) > _MOST:
        del known[_MOST // 2]
    return known
