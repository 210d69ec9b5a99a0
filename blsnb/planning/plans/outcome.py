"""What a search found for a load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blsnb.planning.calibration import Calibration
from blsnb.planning.judgement import Judgement
from blsnb.planning.search import Judged


@dataclass(frozen=True)
class ComparedConfigurations:
    """The configurations that were compared for a load, the best first.

    Parameters
    ----------
    calibration
        What was observed of the models.
    rates
        Requests per second, ascending: a configuration must hold all of them.
    p99_us
        Limit of the latency in microseconds.
    judged
        All configurations.
    curve
        The best one at several rates, ascending.
    more
        The best one with one more instance, by model, at the highest rate.
    seed, cores
        Of the simulations.
    """

    calibration: Calibration
    rates: tuple[float, ...]
    p99_us: float
    judged: tuple[Judged, ...]
    curve: tuple[Judgement, ...]
    more: Mapping[str, Judgement]
    seed: int = 0
    cores: float | None = None

    @property
    def model_name(self) -> str:
        """The model that clients call."""
        return self.calibration.model_name

    @property
    def rate(self) -> float:
        """The highest of the rates."""
        return self.rates[-1]

    @property
    def best(self) -> Judged:
        """The cheapest configuration that holds; else the fastest one."""
        return self.judged[0]

    @property
    def finalists(self) -> list[Judged]:
        """The configurations that were judged exactly."""
        return [each for each in self.judged if each.is_final]

    @property
    def holds(self) -> bool:
        """Whether the best configuration holds the rates within the limit."""
        return self.best.holds(self.p99_us)

    @property
    def rows(self) -> list[dict[str, float]]:
        """The best configuration at several rates, as plain rows."""
        return [
            {
                "rate": each.rate,
                "throughput": each.answered_rate,
                "p50_us": each.p50_us,
                "p90_us": each.p90_us,
                "p99_us": each.p99_us,
            }
            for each in self.curve
        ]
