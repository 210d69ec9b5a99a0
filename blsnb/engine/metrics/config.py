"""Which latencies the metrics page shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

_COUNTERS, _SUMMARIES = "counter_latencies", "summary_latencies"
_QUANTILES = "summary_quantiles"


class MetricsConfig(NamedTuple):
    """Latency settings of Triton's ``--metrics-config``.

    Parameters
    ----------
    summary_latencies
        Whether there are summaries.
    quantiles
        Quantiles of the summaries.
    counter_latencies
        Whether there are counters.
    """

    summary_latencies: bool = False
    quantiles: tuple[float, ...] = (0.5, 0.9, 0.95, 0.99, 0.999)
    counter_latencies: bool = True


def parse_metrics_config(given: Mapping[str, bool | str]) -> MetricsConfig:
    """Return the settings of a server from names and values of ``--metrics-config``.

    Parameters
    ----------
    given
        ``counter_latencies`` and ``summary_latencies``: true or false;
        ``summary_quantiles``: quantiles with errors, such as
        ``"0.5:0.05,0.9:0.01"``; quantiles of blsnb are exact.

    Raises
    ------
    ValueError
        A name is unknown, or a value is not valid.
    """
    for name in given:
        if name not in (_COUNTERS, _SUMMARIES, _QUANTILES):
            known = f"{_COUNTERS!r}, {_SUMMARIES!r} and {_QUANTILES!r}"
            raise ValueError(f"metrics_config[{name!r}] is unknown; expected {known}")
    default = MetricsConfig()
    text = given.get(_QUANTILES)
    return MetricsConfig(
        _flag(given, _SUMMARIES, default.summary_latencies),
        default.quantiles if text is None else tuple(_quantiles(str(text))),
        _flag(given, _COUNTERS, default.counter_latencies),
    )


def _flag(given: Mapping[str, bool | str], name: str, default: bool) -> bool:
    flag = str(given.get(name, default)).lower()
    if flag not in ("true", "false"):
        raise ValueError(
            f"metrics_config[{name!r}]={flag!r} is not valid; expected true or false"
        )
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
                f"metrics_config[{_QUANTILES!r}]={text!r} is not valid; expected "
                "quantiles between 0 and 1 with errors, such as '0.5:0.05,0.9:0.01'"
            )
        yield value
