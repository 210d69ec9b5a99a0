"""A plan as text: its line, its table, and its findings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from blsnb.errors import BlsnbError
from blsnb.planning.calibration import HERE, WORLDS
from blsnb.planning.judgement import CORES, Judgement
from blsnb.planning.options import Option, gpus_of
from blsnb.planning.plans.outcome import ComparedConfigurations
from blsnb.planning.request_mix import load_findings
from blsnb.planning.search import Judged
from blsnb.printable import counted, in_columns, rounded
from blsnb.views.format import time

_HEAD = ("configuration", "instances", "p50", "p99", "answered/s", "busiest", "holds")


def line(plan: ComparedConfigurations) -> str:
    """Return a plan as one line."""
    state = "" if plan.holds else "not held: "
    return (
        f"<Plan {plan.model_name} at {spelled_rates(plan.rates)}/s: {state}"
        f"{_configuration(plan.best)}, p99 {time(plan.best.judgement.p99_us)}>"
    )


def lines(plan: ComparedConfigurations) -> list[str]:
    """Return a plan as lines."""
    head, rows = table(plan)
    return [caption(plan), *in_columns([head, *rows]), *findings(plan)]


def estimate(us: float, error: float) -> str:
    """Return a simulated time with the error of its calibration."""
    return time(us) if math.isnan(error) else f"{time(us)} ± {error:.0%}"


def caption(plan: ComparedConfigurations) -> str:
    """Return the load and the world, in a line."""
    compared = counted(len(plan.judged), "configuration")
    exactly = len(plan.finalists)
    if exactly < len(plan.judged):
        compared += f", the best {exactly} with {plan.best.requests:,} requests"
    if len(plan.rates) > 1:
        compared += f" at {len(plan.rates)} rates"
    return (
        f"{plan.model_name} at {spelled_rates(plan.rates)} requests/s, p99 within "
        f"{time(plan.p99_us)}: {compared}, simulated for "
        f"{WORLDS[plan.calibration.world]}"
    )


def spelled_rates(rates: Sequence[float]) -> str:
    """Return one rate, or the lowest and the highest."""
    if len(rates) == 1:
        return f"{rates[0]:g}"
    return f"{rates[0]:g} to {rates[-1]:g}"


def table(
    plan: ComparedConfigurations,
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the head of a table, and a line for each that was judged exactly."""
    head = list(_HEAD)
    if len(plan.rates) > 1:
        head[head.index("answered/s")] = "slowest at"
    return tuple(head), [_row(plan, each) for each in plan.finalists]


def _row(plan: ComparedConfigurations, judged: Judged) -> tuple[str, ...]:
    found, at_most = judged.judgement, judged.at_most
    rate = rounded(found.answered_rate)
    if len(plan.rates) > 1:
        rate = f"{found.rate:g}/s"
    return (
        _configuration(judged),
        f"{judged.option.cost}",
        estimate(found.p50_us, plan.calibration.error),
        estimate(found.p99_us, plan.calibration.error),
        rate,
        f"{at_most.bottleneck} {_busy(at_most):.0%}",
        "yes" if judged.holds(plan.p99_us) else "no",
    )


def findings(plan: ComparedConfigurations) -> list[str]:
    """Return what holds the load back, what more brings, and what is uncertain."""
    best = plan.best.at_most
    texts = [] if plan.holds else [_not_held(plan)]
    texts.append(_reason(best))
    texts += load_findings(plan.calibration.mix, best)
    texts += [
        f"One more instance of {name}{_on_gpus(plan, name)}: p99 "
        f"{time(found.p99_us)} instead of {time(best.p99_us)} at {best.rate:g} "
        "requests/s."
        for name, found in plan.more.items()
    ]
    texts += [
        f"Extrapolated: {name} was not observed with batches of {ranges(sizes)}."
        for name, sizes in _extrapolated(plan.best).items()
    ]
    return [*texts, *_beyond(plan), *plan.calibration.findings]


def _on_gpus(plan: ComparedConfigurations, name: str) -> str:
    return " on each GPU" * (gpus_of(plan.calibration.models[name].config) > 1)


def _beyond(plan: ComparedConfigurations) -> Iterator[str]:
    """Yield what lies outside of the measured loads and processors."""
    calibration = plan.calibration
    measured = [each.measured_rate for each in calibration.reproductions]
    if measured and plan.rates[-1] > max(measured):
        yield (
            f"Extrapolated: at most {rounded(max(measured))} requests/s were measured, "
            "with the configuration as it is."
        )
    if plan.cores is not None and plan.cores > calibration.cores:
        share = (
            " that Python code of one kernel had" if calibration.world == HERE else ""
        )
        yield (
            f"Extrapolated: {plan.cores:g} processors; the calibration is for "
            f"{calibration.cores:.3g}{share}."
        )


def _not_held(plan: ComparedConfigurations) -> str:
    """Return why the best configuration does not hold the load."""
    worst = plan.best.judgement
    if not worst.is_held:
        return (
            f"No configuration holds the load: the best one answers "
            f"{rounded(worst.answered_rate)} of {worst.rate:g} requests/s."
        )
    return (
        f"No configuration holds the load: the best one has a p99 of "
        f"{time(worst.p99_us)} at {worst.rate:g} requests/s."
    )


def check_holds(plan: ComparedConfigurations) -> None:
    """Refuse a plan whose best configuration does not hold the load.

    Raises
    ------
    BlsnbError
        With the reason.
    """
    if not plan.holds:
        raise BlsnbError(
            f"{_not_held(plan)} Plan again with more instances, a longer p99 or a "
            "lower rate."
        )


def _extrapolated(judged: Judged) -> dict[str, list[int]]:
    """Return the batch sizes outside of what was observed, of all rates."""
    found: dict[str, set[int]] = {}
    for each in judged.at:
        for name, sizes in each.extrapolated.items():
            found.setdefault(name, set()).update(sizes)
    return {name: sorted(sizes) for name, sizes in found.items()}


def ranges(sizes: Sequence[int]) -> str:
    """Return ascending numbers as text, such as "2, 7 to 16"."""
    found: list[list[int]] = []
    for size in sizes:
        if found and size == found[-1][-1] + 1:
            found[-1].append(size)
        else:
            found.append([size])
    return ", ".join(
        f"{each[0]} to {each[-1]}" if len(each) > 2 else ", ".join(map(str, each))
        for each in found
    )


def _configuration(judged: Judged) -> str:
    return spelled(judged.option, judged.option.settings) or "as configured"


def spelled(option: Option, models: Iterable[str]) -> str:
    """Return the settings of models in a line."""
    parts = []
    for name in models:
        setting = option.settings[name]
        words = [
            _instances(setting.instances, gpus_of(option.configs[name])),
            f"delay {time(setting.delay_us)}" if setting.delay_us is not None else "",
            f"batch {setting.batch}" if setting.batch is not None else "",
        ]
        parts.append(" ".join([name, *filter(None, words)]))
    return ", ".join(parts)


def _instances(count: int | None, gpus: int) -> str:
    """Return the number of instances on all GPUs, as Triton makes them."""
    each = f" ({count} on each GPU)" * (gpus > 1)
    return counted(count * gpus, "instance") + each if count else ""


def _busy(found: Judgement) -> float:
    name = found.bottleneck
    return found.cores_use if name == CORES else found.models[name].use


def _reason(found: Judgement) -> str:
    """Return what holds requests back: a policy, a resource, or what is busiest."""
    if name := found.refusing_model:
        model = found.models[name]
        return (
            f"The bottleneck is the queue policy of {name}: it refuses "
            f"{model.refused_share:.1%} of the requests, while the instances are busy "
            f"for {model.use:.0%} of the time."
        )
    if not found.has_bottleneck:
        return (
            "There is no bottleneck: all instances and processors are idle for at "
            f"least {math.floor(100 - 100 * found.use)}% of the time."
        )
    if name := found.limiting_resource:
        return (
            f"The bottleneck is the resource {name} of the rate limits, used to "
            f"{found.resources[name]:.0%}: more instances do not help."
        )
    name = found.bottleneck
    if name == CORES:
        return (
            f"The bottleneck is the processors, busy for {found.cores_use:.0%} of the "
            "time: more instances do not help."
        )
    model = found.models[name]
    return (
        f"The bottleneck is the instances of {name}, busy for {model.use:.0%} of the "
        f"time, with batches of {model.batch_size:.3g} and {time(model.queue_us)} in "
        "the queue."
    )
