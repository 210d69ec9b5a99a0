"""Placing: which runtime a server has, and how hostile it is to tensors."""

from __future__ import annotations

import functools
import sys

from blsnb.engine.instance.placement import Placements
from blsnb.engine.instance.placement_fuzzer import parse_hostile
from blsnb.errors import ModelLoadError
from blsnb.parts.models import Models
from blsnb.runtimes.choosing import RuntimeChoice, choose
from blsnb.runtimes.runtime import Runtime


class Placing(Models):
    """The part of a server that knows where tensors are."""

    _chosen: RuntimeChoice

    def _place(
        self, runtime: str | Runtime, hostile_placement: int | None
    ) -> Placements:
        """Choose a runtime, and return what the engine must know."""
        hostile = parse_hostile(hostile_placement)
        self._chosen = _announced(choose(runtime, with_device=hostile is not None))
        return Placements(self._chosen.runtime, hostile)

    @property
    def runtime(self) -> Runtime:
        """What tensors are made of: NumPy's arrays, or a device's."""
        return self._chosen.runtime

    @property
    def runtime_reason(self) -> str:
        """Why it is this runtime."""
        return self._chosen.reason

    @property
    def hostile_placement(self) -> int | None:
        """The seed by which tensors are moved at random; None if they are not."""
        hostile = self._engine.placements.hostile
        return None if hostile is None else hostile.seed

    def use_runtime(self, runtime: str | Runtime) -> dict[str, ModelLoadError | None]:
        """Take another runtime, and load every model that serves anew on it.

        A model that was loaded with a configuration of its own stays as it is.

        Returns
        -------
        dict
            The models, each with the error if it did not load; then what served
            before still does, on the runtime that it had.

        Raises
        ------
        ValueError
            There is no such runtime, or no device answers; nothing has changed.
        """
        self._check_open()
        placements, control = self._engine.placements, self._control
        hostile = placements.hostile is not None
        self._chosen = _announced(choose(runtime, with_device=hostile))
        placements.use(self._chosen.runtime)
        names = [n for n in control.serving() if not control.is_overridden(n)]
        return {name: self._loaded_anew(name) for name in names}

    def _loaded_anew(self, name: str) -> ModelLoadError | None:
        try:
            self._control.bring_up(name, always=True)
        except ModelLoadError as error:
            return error
        return None


def _announced(chosen: RuntimeChoice) -> RuntimeChoice:
    """Say which runtime it is, where that is not what everybody expects."""
    if chosen.notable:
        _say(f"blsnb: {chosen.runtime.describe()}; {chosen.reason}")
    return chosen


@functools.cache
def _say(text: str) -> None:
    """Say something once in the life of a process."""
    print(text, file=sys.stderr)
