"""Plans the instances of a server's models for a load."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

from blsnb.arguments import (
    check_callable,
    check_positive,
    check_type,
    check_whole,
    refuse,
    several,
)
from blsnb.files.interrupts import ended_once
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import ServerParts
from blsnb.planning.calibrate import configs_of, first_trace
from blsnb.planning.calibration import HERE, Calibration
from blsnb.planning.judgement import CORES, Judgement, judge
from blsnb.planning.observations import reached
from blsnb.planning.options import Option, Setting, gpus_of, options
from blsnb.planning.plans.live_models import NO_MODELS, LiveModels
from blsnb.planning.plans.plan import Plan
from blsnb.planning.plans.planned_world import PlannedWorld
from blsnb.planning.request_mix import mix_of
from blsnb.planning.search import Judged, search
from blsnb.planning.simulation.loads import Mix

Progress = Callable[[float, str], None]
"""Receives the completed share, from 0 to 1, and the current step as text."""
Choices = Mapping[str, Sequence[int]] | None
"""Values to compare, by model."""
_CURVE = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25)
"""Rates of the curve, as multiples of the highest one."""
_CURVE_REQUESTS = 2_000
_MORE_REQUESTS = 5_000
"""Number of requests to judge one more instance with."""
MAX_RATES = 100
_CALIBRATED, _SEARCHED = 0.3, 0.9
"""Completed shares after the calibration and after the search."""


def plan(
    parts: ServerParts,
    request: ClientRequest,
    *,
    rate: float | Iterable[float],
    p99_ms: float,
    instances: Choices,
    delay_us: Choices,
    batch: Choices,
    cores: float | None,
    seed: int,
    duration_s: float,
    requests: int,
    priorities: Mapping[int, float] | None,
    sequence_lengths: Collection[int],
    progress: Progress | None,
    world: PlannedWorld,
    calibration: Calibration | None,
) -> Plan:
    """Plan the instances of a server's models; see `Server.plan`."""
    parts.lifetime.check_open()
    rates = _rates(rate)
    check_positive(p99_ms=p99_ms, duration_s=duration_s)
    if cores is not None:
        check_positive(cores=cores)
        cores = float(cores)
    check_whole(seed=seed, requests=requests)
    seed, requests = int(seed), int(requests)
    check_callable(progress=progress)
    given = {"instances": instances, "delay_us": delay_us, "batch": batch}
    choices = [_numbers(name, each) for name, each in given.items()]
    is_new = world.name == HERE and calibration is None
    mix = _mix(parts, request, is_new, priorities, sequence_lengths)
    report = progress or (lambda share, words: None)
    report(0.0, "calibrating")
    first = first_trace(parts, request, mix.lengths)
    configs = configs_of(parts, reached([first]))
    compared = options(configs, *choices)
    live = LiveModels(parts, tuple(configs))
    expected = "the calibration of a plan, plan.calibration"
    check_type("calibration", calibration, Calibration | None, expected)
    if calibration is not None:
        calibration.check(world.name, request.model_name)
    found = calibration or ended_once(
        partial(world.calibrate, requests, duration_s, mix)
    )
    if priorities or mix.lengths:
        found = replace(found, mix=mix._replace(size=found.mix.size))
    made = planned(found, compared, rates, p99_ms * 1e3, cores, seed, report, live)
    return replace(made, _world=world)


def _mix(
    parts: ServerParts,
    request: ClientRequest,
    is_new: bool,
    priorities: Mapping[int, float] | None,
    sequence_lengths: Collection[int],
) -> Mix:
    # Elsewhere the sequences are those that were observed.
    config = parts.engine.catalog.config(request.model_name) if is_new else None
    return mix_of(request, config, priorities, sequence_lengths)


def planned(
    calibration: Calibration,
    compared: Sequence[Option],
    rates: Sequence[float],
    p99_us: float,
    cores: float | None = None,
    seed: int = 0,
    report: Progress = lambda share, words: None,
    live: LiveModels = NO_MODELS,
) -> Plan:
    """Return the plan of a calibration.

    Parameters
    ----------
    rates
        Requests per second, ascending.
    """

    def simulated(option: Option, rate: float, requests: int) -> Judgement:
        return judge(calibration, option, rate, requests, seed, cores)

    def searched(share: float) -> None:
        report(_CALIBRATED + share * (_SEARCHED - _CALIBRATED), "simulating")

    judged = search(compared, simulated, rates, p99_us, searched)
    best = judged[0]
    curve = _curve(best, partial(simulated, best.option))
    more = {}
    at_most = best.at_most
    name = at_most.bottleneck
    if not (name == CORES or at_most.limiting_resource or at_most.is_idle):
        option = _one_more(calibration, best.option, name)
        more[name] = simulated(option, rates[-1], _MORE_REQUESTS)
    report(1.0, "done")
    return Plan(
        calibration,
        tuple(rates),
        p99_us,
        tuple(judged),
        curve,
        more,
        seed,
        cores,
        live,
    )


def _curve(
    best: Judged, simulated: Callable[[float, int], Judgement]
) -> tuple[Judgement, ...]:
    """Return the best option at the judged rates, and at others around them."""
    known = {each.rate: each for each in best.at}
    for share in _CURVE:
        rate = share * best.at_most.rate
        # Between judged rates nothing is missing.
        if rate not in known and (len(best.at) == 1 or share > 1):
            known[rate] = simulated(rate, _CURVE_REQUESTS)
    return tuple(known[rate] for rate in sorted(known))


def _rates(rate: Any) -> tuple[float, ...]:
    """Return rates, ascending."""
    if not isinstance(rate, Real | Iterable):
        refuse("rate", rate, "a number of requests per second, or several")
    given = several(rate)
    for each in given:
        check_positive(rate=each)
    if not 1 <= len(set(given)) <= MAX_RATES:
        raise ValueError(
            f"{len(set(given))} rates are not valid; expected 1 to {MAX_RATES}"
        )
    return tuple(sorted({float(each) for each in given}))


def _one_more(calibration: Calibration, option: Option, name: str) -> Option:
    """Return an option with one more instance of a model, on each of its GPUs."""
    config = option.configs.get(name, calibration.models[name].config)
    gpus = gpus_of(config)
    count = len(config.instance_names()) // gpus + 1
    changed = Setting(instances=count).applied(config)
    settings = {
        **option.settings,
        name: option.settings.get(name, Setting())._replace(instances=count),
    }
    return Option(settings, {**option.configs, name: changed}, option.cost + gpus)


def _numbers(name: str, choices: Any) -> dict[str, list[int]]:
    """Return the numbers to compare of an argument, by model."""
    expected = "numbers by model, such as {'a': [1, 2]}"
    check_type(name, choices, Mapping | None, expected)
    least = 0 if name == "delay_us" else 1
    found = {}
    for model, values in ({} if choices is None else choices).items():
        argument = f"{name}[{model!r}]"
        check_type(argument, values, Collection, "a list of numbers, such as [1, 2]")
        found[model] = several(values)
        if not found[model] or not all(_is_whole(n, least) for n in found[model]):
            raise ValueError(
                f"{argument}={values!r} is not valid; expected one or more whole "
                f"numbers of at least {least}"
            )
    return found


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
