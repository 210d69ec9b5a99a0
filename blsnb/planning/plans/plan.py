"""The cheapest configuration that holds a load, and why."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.arguments import check_whole
from blsnb.benchmark.level import Load
from blsnb.errors import BlsnbError
from blsnb.files.interrupts import ended_once
from blsnb.planning.plans import plan_text
from blsnb.planning.plans.check import MAX_REQUESTS, Check, check
from blsnb.planning.plans.live_models import NO_MODELS, LiveModels
from blsnb.planning.plans.outcome import ComparedConfigurations
from blsnb.planning.plans.planned_world import PlannedWorld
from blsnb.printable import printable

if TYPE_CHECKING:
    from blsnb.repository.export import Exported
    from blsnb.results.run import ImportedRun

_MAX_MEASURED = 100


@dataclass(frozen=True)
class Plan(ComparedConfigurations):
    """The configurations that `blsnb.Server.plan` has compared, the best first."""

    _live: LiveModels = field(default=NO_MODELS, repr=False, compare=False)
    _world: PlannedWorld | None = field(default=None, repr=False, compare=False)

    @property
    def configs(self) -> dict[str, str]:
        """The changed configurations as text, by model."""
        before = self.calibration.models
        return {
            name: config.to_pbtxt()
            for name, config in self.best.option.configs.items()
            if config != before[name].config
        }

    def diff(self) -> str:
        """Return what changes in the configurations, as a unified diff."""
        lines: list[str] = []
        for name, text in self.configs.items():
            before = self.calibration.models[name].config.to_pbtxt()
            lines += difflib.unified_diff(
                before.splitlines(),
                text.splitlines(),
                f"{name}/config.pbtxt",
                f"{name}/config.pbtxt",
                lineterm="",
                n=1,
            )
        return "\n".join(map(printable, lines))

    def apply(self) -> list[str]:
        """Change the models of the server to the best configuration.

        Only the planned settings of each ``config.pbtxt`` change, and its comments
        stay. All models change or none.

        Returns
        -------
        list of str
            The changed models; empty if all have these settings.

        Raises
        ------
        BlsnbError
            No configuration holds the load, or a model was changed or removed after it
            was observed.
        ModelLoadError
            A model does not load with its new configuration; all are as before.
        """
        return self._live.apply(self._settings())

    def unapplied(self) -> list[str]:
        """Return the models that `apply` changes now; empty after it.

        Raises
        ------
        BlsnbError
            As of `apply`.
        """
        return self._live.unapplied(self._settings())

    def changes(self, models: Iterable[str]) -> str:
        """Return the settings of models in the best configuration, in words."""
        return plan_text.spelled(self.best.option, models)

    def export(self, path: str | Path, *, force: bool = False) -> Exported:
        """Write all models as a repository, with the best configuration.

        The models of the server are unchanged.

        Parameters
        ----------
        path
            The folder; created if missing.
        force
            Whether to overwrite files that no export wrote.

        Raises
        ------
        BlsnbError
            As of `apply`.
        RepositoryError
            A foreign file is in the way, or a file cannot be written.
        """
        return self._live.export(self._settings(), path, force=force)

    def run(self, requests: int = 100, *, rate: float | None = None) -> ImportedRun:
        """Simulate requests with the best configuration, as a run for the view.

        The run has the time of each call in its queue and execution, in virtual time,
        and no tensors. Its view says that it is simulated.

        Parameters
        ----------
        requests
            Number of requests of clients, at most 100,000.
        rate
            Requests per second; None for the highest rate of the plan.

        Raises
        ------
        ValueError
            A number is out of range.
        """
        from blsnb.planning.plans.simulated_run import run_of

        return run_of(self, requests, self.rate if rate is None else rate)

    def check(self, *, duration_s: float = 5.0, measurements: int = 3) -> Check:
        """Measure the best configuration under the load, beside its prediction.

        A server of its own runs it and is stopped: a real Triton server on this machine
        for ``target="triton"``, else a server here.

        Parameters
        ----------
        duration_s
            Seconds of each measurement. Of more than three rates, the lowest, the
            middle and the highest one are measured.
        measurements
            Number of measurements of a rate, with different random arrivals.

        Raises
        ------
        BlsnbError
            The plan has no server, or the configuration does not load.
        TypeError
            A number has another type.
        ValueError
            A number is out of range.
        """
        if self._world is None:
            raise BlsnbError("this plan has no server; plan with Server.plan()")
        check_whole(1, _MAX_MEASURED, measurements=measurements)
        load, count = Load(duration_s, MAX_REQUESTS), int(measurements)
        return ended_once(partial(self._checked, self._world, load, count))

    def _checked(self, world: PlannedWorld, load: Load, measurements: int) -> Check:
        with world.sender(self.configs) as sender:
            return check(self, sender, load, measurements)

    def _settings(self) -> dict[str, Any]:
        plan_text.check_holds(self)
        return dict(self.best.option.settings)

    def __repr__(self) -> str:
        return printable(plan_text.line(self))

    def __str__(self) -> str:
        return "\n".join(map(printable, plan_text.lines(self)))

    @property
    def caption(self) -> str:
        """The load and the world, in a line."""
        return plan_text.caption(self)

    @property
    def findings(self) -> list[str]:
        """What holds the load back, what more would bring, and what is uncertain."""
        return plan_text.findings(self)

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the head of a table, and a line for each that was judged exactly."""
        return plan_text.table(self)

    def plot(self) -> Any:
        """Return a matplotlib figure: throughput and latencies over the rate."""
        from blsnb.views.figures import load_figure

        return load_figure.plot(self.caption, self.rows)
