"""Slots of a pool, and the requests that wait for one."""

from __future__ import annotations

from collections.abc import Container
from typing import TypeAlias, final

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.threads.waiter import Waiter


@final
class AbandonedSlot:
    """A pool slot whose instance is still busy with an abandoned request."""

    def __init__(self, instance: ModelInstance) -> None:
        self.instance = instance
        self.waiter = Waiter()
        """Woken when the instance is released after all."""
        self.filled = False
        """Whether a new instance has the slot and the old one no longer serves."""

    def is_released(self, busy: Container[ModelInstance]) -> bool:
        """Whether the old instance was released before it was replaced.

        Parameters
        ----------
        busy
            The instances that are still busy with abandoned requests.
        """
        return not self.filled and self.instance not in busy


PoolSlot: TypeAlias = ModelInstance | AbandonedSlot
"""A free instance, or a slot whose instance must be replaced first."""


class WaitingRequest:
    """A request in the queue of a pool, and the slot that it receives."""

    def __init__(self) -> None:
        self.waiter = Waiter()
        self.slot: PoolSlot | None = None
