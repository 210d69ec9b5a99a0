"""Plans the instances of a server's models for a load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any

from blsnb.arguments import check_callable, check_type, check_whole, refuse
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import ServerParts
from blsnb.planning.calibrate import calibrate
from blsnb.planning.calibration import Calibration
from blsnb.planning.judgement import CORES, Judgement, judge
from blsnb.planning.options import Option, Setting, options
from blsnb.planning.plan import Plan
from blsnb.planning.request_mix import mix_of
from blsnb.planning.search import search

Progress = Callable[[float, str], None]
"""Receives the completed share, from 0 to 1, and the current step as text."""
Choices = Mapping[str, Sequence[int]]
"""Values to compare, by model."""
_CURVE = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25)
"""Rates of the curve, as multiples of the wanted one."""
_CURVE_REQUESTS = 4_000
_CALIBRATED, _SEARCHED = 0.3, 0.9
"""Completed shares after the calibration and after the search."""


def plan(
    parts: ServerParts,
    request: ClientRequest,
    *,
    rate: float,
    p99_ms: float,
    instances: Choices,
    delay_us: Choices,
    batch: Choices,
    cores: float | None,
    seed: int,
    duration_s: float,
    requests: int,
    priorities: Mapping[int, float],
    sequence_lengths: Sequence[int],
    progress: Progress | None,
) -> Plan:
    """Plan the instances of a server's models; see `Server.plan`."""
    parts.lifetime.check_open()
    _check_positive(rate=rate, p99_ms=p99_ms, duration_s=duration_s)
    if cores is not None:
        _check_positive(cores=cores)
    check_whole(seed=seed, requests=requests)
    check_callable(progress=progress)
    for name, choices in {
        "instances": instances,
        "delay_us": delay_us,
        "batch": batch,
    }.items():
        _check_choices(name, choices, least=0 if name == "delay_us" else 1)
    config = parts.engine.catalog.config(request.model_name)
    mix = mix_of(request, config, priorities, sequence_lengths)
    report = progress or _ignore
    report(0.0, "calibrating")
    found = calibrate(parts, request, requests=requests, duration_s=duration_s, mix=mix)
    configs = {name: model.config for name, model in found.models.items()}
    compared = options(configs, instances, delay_us, batch)
    return planned(found, compared, rate, p99_ms * 1e3, cores, seed, report)


def planned(
    calibration: Calibration,
    compared: Sequence[Option],
    rate: float,
    p99_us: float,
    cores: float | None = None,
    seed: int = 0,
    report: Progress = lambda share, words: None,
) -> Plan:
    """Return the plan of a calibration."""

    def simulated(option: Option, requests: int) -> Judgement:
        return judge(calibration, option, rate, requests, seed, cores)

    def searched(share: float) -> None:
        report(_CALIBRATED + share * (_SEARCHED - _CALIBRATED), "simulating")

    judged = search(compared, simulated, p99_us, searched)
    best = judged[0].option
    at = partial(judge, calibration, best, seed=seed, cores=cores)
    curve = tuple(at(rate * each, requests=_CURVE_REQUESTS) for each in _CURVE)
    more = {}
    name = judged[0].judgement.bottleneck
    if name != CORES:
        more[name] = simulated(_one_more(calibration, best, name), judged[0].requests)
    report(1.0, "done")
    return Plan(calibration, rate, p99_us, tuple(judged), curve, more)


def _one_more(calibration: Calibration, option: Option, name: str) -> Option:
    """Return an option with one more instance of a model."""
    config = option.configs.get(name, calibration.models[name].config)
    count = len(config.instance_names()) + 1
    changed = Setting(instances=count).applied(config)
    settings = {
        **option.settings,
        name: option.settings.get(name, Setting())._replace(instances=count),
    }
    return Option(settings, {**option.configs, name: changed}, option.cost + 1)


def _check_positive(**numbers: Any) -> None:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            refuse(name, value, "a number")
        if not 0 < float(value) < float("inf"):
            raise ValueError(f"{name}={value!r} is not valid; expected more than 0")


def _check_choices(name: str, choices: Any, least: int) -> None:
    check_type(name, choices, Mapping, "numbers by model, such as {'a': [1, 2]}")
    for model, values in choices.items():
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(
                    f"{name}={{{model!r}: {values!r}}} is not valid; expected whole "
                    f"numbers of at least {least}"
                )


def _ignore(share: float, words: str) -> None:
    """Report nothing."""
