"""Anywhere: the backend of code that is no instance's own, but may run for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from blsnb.pb_utils.backend import Backend, Outside


def _nobody() -> Backend | None:
    return None


class Anywhere:
    """Passes on what is asked of it to the instance whose code asks, at that moment.

    All models share an installed package, and with it the module that the package
    has imported. Where no instance asks, it answers as `Outside`.
    """

    asking: ClassVar[Callable[[], Backend | None]] = staticmethod(_nobody)
    """Returns the instance's backend; set by the engine while it has instances."""

    def __getattr__(self, name: str) -> Any:
        return getattr(type(self).asking() or Outside(), name)

    @classmethod
    def found_by(cls, asking: Callable[[], Backend | None] | None) -> None:
        """Set who knows for whom code runs; None for nobody."""
        cls.asking = staticmethod(asking or _nobody)
