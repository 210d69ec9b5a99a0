"""The devices of a server: its runtime, and how tensors are placed."""

from __future__ import annotations

import functools
import sys

from blsnb.arguments import refuse
from blsnb.engine.instance.placement import HostilePlacement, Placements
from blsnb.engine.loading.control import ModelControl
from blsnb.errors import ModelLoadError
from blsnb.parts.lifetime import ServerLifetime
from blsnb.runtimes import NAMES
from blsnb.runtimes.choosing import RuntimeChoice, choose
from blsnb.runtimes.runtime import Runtime


def choose_runtime(
    runtime: str | Runtime, hostile: HostilePlacement | None
) -> RuntimeChoice:
    """Choose a runtime; report an unusual one on stderr, once per process."""
    chosen = choose(runtime, with_device=hostile is not None)
    if chosen.notable:
        _say(f"blsnb: {chosen.runtime.describe()}; {chosen.reason}")
    return chosen


def check_runtime(runtime: object) -> None:
    """Refuse a runtime that is neither a name nor an object with a runtime's methods.

    Raises
    ------
    TypeError
    """
    if not isinstance(runtime, str) and not hasattr(runtime, "gpu_count"):
        names = ", ".join(map(repr, NAMES))
        refuse("runtime", runtime, f"{names}, or a runtime of your own")


@functools.cache
def _say(text: str) -> None:
    print(text, file=sys.stderr)


class Devices:
    """Knows the runtime of a server and changes it."""

    def __init__(
        self,
        given: str | Runtime,
        chosen: RuntimeChoice,
        placements: Placements,
        control: ModelControl,
        lifetime: ServerLifetime,
    ) -> None:
        self.given = given
        """The runtime as the user named or made it."""
        self._chosen = chosen
        self._placements = placements
        self._control = control
        self._lifetime = lifetime

    @property
    def runtime(self) -> Runtime:
        """The runtime that makes tensors."""
        return self._chosen.runtime

    @property
    def reason(self) -> str:
        """Why this runtime was chosen, and the seed of hostile placement."""
        hostile = self._placements.hostile
        seed = "" if hostile is None else f"; hostile placement, seed {hostile.seed}"
        return f"{self._chosen.reason}{seed}"

    def use(self, runtime: str | Runtime) -> dict[str, ModelLoadError | None]:
        """Change the runtime and reload the models; see `Server.use_runtime`."""
        self._lifetime.check_open()
        check_runtime(runtime)
        self._chosen = choose_runtime(runtime, self._placements.hostile)
        self.given = runtime
        self._placements.use(self._chosen.runtime)
        control = self._control
        names = [n for n in control.serving() if not control.sources.is_overridden(n)]
        return {name: control.reload(name) for name in names}
