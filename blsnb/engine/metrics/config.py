"""MetricsConfig: how the metrics page tells latencies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

_COUNTERS, _SUMMARIES = "counter_latencies", "summary_latencies"
_QUANTILES = "summary_quantiles"


class MetricsConfig(NamedTuple):
    """What Triton's ``--metrics-config`` says of latencies.

    Parameters
    ----------
    summary_latencies
        Whether there are summaries.
    quantiles
        What each of them tells.
    counter_latencies
        Whether there are counters.
    """

    summary_latencies: bool = False
    quantiles: tuple[float, ...] = (0.5, 0.9, 0.95, 0.99, 0.999)
    counter_latencies: bool = True


def parse_metrics_config(given: Mapping[str, bool | str]) -> MetricsConfig:
    """Return what a server was told, in the names of ``--metrics-config``.

    Parameters
    ----------
    given
        ``counter_latencies`` and ``summary_latencies``: true or false;
        ``summary_quantiles``: quantiles with their errors, as in
        ``"0.5:0.05,0.9:0.01"``. The values here have no error.

    Raises
    ------
    ValueError
        There is no such setting, or the value is none.
    """
    for name in given:
        if name not in (_COUNTERS, _SUMMARIES, _QUANTILES):
            known = f"{_COUNTERS!r}, {_SUMMARIES!r} and {_QUANTILES!r}"
            raise ValueError(f"metrics_config has {known}, but no {name!r}")
    usual = MetricsConfig()
    told = given.get(_QUANTILES)
    return MetricsConfig(
        _flag(given, _SUMMARIES, usual.summary_latencies),
        usual.quantiles if told is None else tuple(_quantiles(str(told))),
        _flag(given, _COUNTERS, usual.counter_latencies),
    )


def _flag(given: Mapping[str, bool | str], name: str, usual: bool) -> bool:
    flag = str(given.get(name, usual)).lower()
    if flag not in ("true", "false"):
        raise ValueError(f"metrics_config[{name!r}] must be true or false: {flag!r}")
    return flag == "true"


def _quantiles(text: str) -> Iterator[float]:
    for part in text.split(","):
        quantile, _, error = part.partition(":")
        try:
            value, _ = float(quantile), float(error)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise ValueError(
                f"metrics_config[{_QUANTILES!r}] must be like '0.5:0.05,0.9:0.01', "
                f"each between 0 and 1, with its error: {text!r}"
            )
        yield value
