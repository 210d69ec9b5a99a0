"""Predictions of a case beside its measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.planning.case import P50_ERROR, P99_ERROR, SATURATION_ERROR


@dataclass
class Rate:
    """Predictions and measurements at a rate, in µs; a measurement for each seed.

    Parameters
    ----------
    p50, p99
        Predicted before the measurements, with the speed of the processors that the
        calibration observed.
    known_p50, known_p99
        Predicted with the speed of the processors during each measurement.
    """

    rate: float
    p50: list[float]
    p99: list[float]
    known_p50: list[float]
    known_p99: list[float]
    measured_p50: list[float]
    measured_p99: list[float]

    def predicted(self, known: bool) -> tuple[list[float], list[float]]:
        """Return the predictions of p50 and p99."""
        return (self.known_p50, self.known_p99) if known else (self.p50, self.p99)

    def errors(self, known: bool) -> tuple[float, float]:
        """Return the relative errors of the predicted p50 and p99."""
        p50, p99 = self.predicted(known)
        return relative(p50, self.measured_p50), relative(p99, self.measured_p99)

    def is_right(self, known: bool) -> bool:
        """Whether both are within their limits."""
        p50_error, p99_error = self.errors(known)
        low, high = min(self.measured_p99), max(self.measured_p99)
        predicted = median(self.predicted(known)[1])
        p99_is_right = abs(p99_error) <= P99_ERROR or low <= predicted <= high
        return abs(p50_error) <= P50_ERROR and p99_is_right

    def line(self, known: bool) -> str:
        """Return the predictions beside the measurements."""
        p50, p99 = self.predicted(known)
        p50_error, p99_error = self.errors(known)
        return (
            f"  {self.rate:7.1f}/s  p50 {every(p50)} ms, measured "
            f"{every(self.measured_p50)}: {p50_error:+.1%};  p99 {every(p99)} ms, "
            f"measured {every(self.measured_p99)}: {p99_error:+.1%}  "
            f"{verdict(self.is_right(known))}"
        )


@dataclass
class Result:
    """A case, predicted and measured.

    Parameters
    ----------
    saturation, known_saturation, measured_saturation
        Requests per second of many clients: predicted before, predicted with the speed
        of the processors during each measurement, and measured.
    slowness
        Mean slowness of the processors in each measurement of a rate, in their order,
        in relation to the calibration.
    calibration
        Its text.
    """

    name: str
    saturation: float
    known_saturation: list[float]
    measured_saturation: list[float]
    rates: list[Rate]
    slowness: list[float]
    calibration: str
    seconds: float = 0.0

    def saturation_error(self, known: bool) -> float:
        """Return the relative error of the predicted saturation."""
        predicted = self.known_saturation if known else [self.saturation]
        return relative(predicted, self.measured_saturation)

    def is_right(self, known: bool) -> bool:
        """Whether all predictions are within their limits."""
        return abs(self.saturation_error(known)) <= SATURATION_ERROR and all(
            rate.is_right(known) for rate in self.rates
        )

    def lines(self) -> list[str]:
        """Return the predictions beside the measurements."""
        slow = " ".join(f"{each:.2f}" for each in self.slowness)
        return [
            f"{self.name}: {verdict(self.is_right(True))}, as predicted before "
            f"{verdict(self.is_right(False))}, {self.seconds:.0f} s",
            f"  slowness of the processors {slow}",
            f"  saturation {every(self.known_saturation, 1)}/s, before "
            f"{self.saturation:.1f}, measured {every(self.measured_saturation, 1)}: "
            f"{self.saturation_error(True):+.1%}, {self.saturation_error(False):+.1%}",
            *(rate.line(True) for rate in self.rates),
            "  as predicted before:",
            *(rate.line(False) for rate in self.rates),
        ]

    def plain(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        right = {"is_right": self.is_right(True), "was_right": self.is_right(False)}
        return {**asdict(self), **right}


def result_of(plain: dict[str, Any]) -> Result:
    """Return a result from its JSON object."""
    verdicts = ("is_right", "was_right")
    given = {key: value for key, value in plain.items() if key not in verdicts}
    return Result(**{**given, "rates": [Rate(**each) for each in given["rates"]]})


def median(values: Sequence[float]) -> float:
    """Return the median of some values."""
    return float(np.median(values))


def relative(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """Return the relative error of the median prediction."""
    return median(predicted) / median(measured) - 1


def every(values: Sequence[float], scale: float = 1e3) -> str:
    """Return values as text, ascending."""
    return " ".join(f"{value / scale:.2f}" for value in sorted(values))


def verdict(is_right: bool) -> str:
    """Return whether a prediction is right, as text."""
    return "right" if is_right else "MISSED"
