"""MetricsConfig: whether the metrics page sums latencies up, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

_FLAG, _QUANTILES = "summary_latencies", "summary_quantiles"


class MetricsConfig(NamedTuple):
    """What Triton's ``--metrics-config`` says of summaries.

    Parameters
    ----------
    summary_latencies
        Whether there are any.
    quantiles
        What each tells.
    """

    summary_latencies: bool = False
    quantiles: tuple[float, ...] = (0.5, 0.9, 0.95, 0.99, 0.999)


def parse_metrics_config(given: Mapping[str, bool | str]) -> MetricsConfig:
    """Return what a server was told, in the names of ``--metrics-config``.

    Parameters
    ----------
    given
        ``summary_latencies``: true or false; ``summary_quantiles``: quantiles with
        their errors, as in ``"0.5:0.05,0.9:0.01"``. The values here have no error.

    Raises
    ------
    ValueError
        There is no such setting, or the value is none.
    """
    for name in given:
        if name not in (_FLAG, _QUANTILES):
            known = f"{_FLAG!r} and {_QUANTILES!r}"
            raise ValueError(f"metrics_config has {known}, but no {name!r}")
    flag = str(given.get(_FLAG, False)).lower()
    if flag not in ("true", "false"):
        raise ValueError(f"metrics_config[{_FLAG!r}] must be true or false: {flag!r}")
    usual = MetricsConfig().quantiles
    told = given.get(_QUANTILES)
    quantiles = usual if told is None else tuple(_quantiles(str(told)))
    return MetricsConfig(flag == "true", quantiles)


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
