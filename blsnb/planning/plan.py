"""Plan: the cheapest configuration that holds a load, and why."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blsnb.model.config import ModelConfig
from blsnb.model.text.text_format import print_message
from blsnb.planning.calibration import WORLDS, Calibration
from blsnb.planning.judgement import CORES, Judgement
from blsnb.planning.options import Setting
from blsnb.planning.request_mix import load_findings
from blsnb.planning.search import Judged
from blsnb.printable import counted, printable
from blsnb.views.format import time

_SHOWN = 8
"""Maximum number of configurations in the table."""
_HEAD = ("configuration", "instances", "p50", "p99", "answered/s", "busiest", "holds")


@dataclass(frozen=True)
class Plan:
    """The configurations that `blsnb.Server.plan` has compared, the best first.

    Parameters
    ----------
    calibration
        What was observed of the models.
    rate
        Requests per second.
    p99_us
        Limit of the latency in microseconds.
    judged
        All configurations.
    curve
        The best one at several rates.
    more
        The best one with one more instance, by model.
    """

    calibration: Calibration
    rate: float
    p99_us: float
    judged: tuple[Judged, ...]
    curve: tuple[Judgement, ...]
    more: Mapping[str, Judgement]

    @property
    def model_name(self) -> str:
        """The model that clients call."""
        return self.calibration.model_name

    @property
    def best(self) -> Judged:
        """The cheapest configuration that holds; else the fastest one."""
        return self.judged[0]

    @property
    def holds(self) -> bool:
        """Whether the best configuration holds the rate within the limit."""
        return self.best.holds(self.p99_us)

    @property
    def configs(self) -> dict[str, str]:
        """The changed configurations as text, by model."""
        return {
            name: _text(config) for name, config in self.best.option.configs.items()
        }

    def diff(self) -> str:
        """Return what changes in the configurations, as a unified diff."""
        lines: list[str] = []
        for name, text in self.configs.items():
            before = _text(self.calibration.models[name].config)
            lines += difflib.unified_diff(
                before.splitlines(),
                text.splitlines(),
                f"{name}/config.pbtxt",
                f"{name}/config.pbtxt",
                lineterm="",
                n=1,
            )
        return "\n".join(map(printable, lines))

    def __repr__(self) -> str:
        state = "" if self.holds else "not held: "
        best = self.best
        return printable(
            f"<Plan {self.model_name} at {self.rate:g}/s: {state}"
            f"{spelled(best.option.settings) or 'as configured'}, "
            f"p99 {time(best.judgement.p99_us)}>"
        )

    def __str__(self) -> str:
        head, rows = self.table()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) for cell, width in zip(row, widths, strict=True)
            ).rstrip()
            for row in (head, *rows)
        ]
        return "\n".join(map(printable, [self.caption, *lines, *self.findings]))

    @property
    def caption(self) -> str:
        """The load and the world, in a line."""
        compared = counted(len(self.judged), "configuration")
        exactly = len(self._finalists)
        if exactly < len(self.judged):
            compared += f", the best {exactly} with {self.best.requests:,} requests"
        world = WORLDS[self.calibration.world]
        return (
            f"{self.model_name} at {self.rate:g} requests/s, p99 within "
            f"{time(self.p99_us)}: {compared}, simulated for {world}"
        )

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the head of a table, and a line for each that was judged exactly."""
        return _HEAD, [self._line(each) for each in self._finalists[:_SHOWN]]

    @property
    def _finalists(self) -> list[Judged]:
        most = self.best.requests
        return [each for each in self.judged if each.requests == most]

    def _line(self, judged: Judged) -> tuple[str, ...]:
        found = judged.judgement
        return (
            spelled(judged.option.settings) or "as configured",
            f"{judged.option.cost}",
            time(found.p50_us),
            time(found.p99_us),
            f"{found.answered_rate:.3g}",
            f"{found.bottleneck} {_busy(found):.0%}",
            "yes" if judged.holds(self.p99_us) else "no",
        )

    @property
    def findings(self) -> list[str]:
        """What holds the load back, what more would bring, and what is uncertain."""
        best = self.best.judgement
        texts = []
        if not self.holds:
            texts.append("No configuration holds the load.")
        texts.append(_reason(best))
        texts += load_findings(self.calibration.mix, best)
        texts += [
            f"One more instance of {name}: p99 {time(found.p99_us)}."
            for name, found in self.more.items()
        ]
        texts += [
            f"Extrapolated: {name} was not observed with batches of "
            f"{', '.join(map(str, sizes))}."
            for name, sizes in best.extrapolated.items()
        ]
        return [*texts, *self.calibration.findings]

    def plot(self) -> Any:
        """Return a matplotlib figure: throughput and latencies over the rate."""
        from blsnb.views.figures import load_figure

        return load_figure.plot(self.caption, self.rows)

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
                "p50_error_us": 0.0,
                "p99_error_us": 0.0,
            }
            for each in self.curve
        ]


def _text(config: ModelConfig) -> str:
    return print_message(config.message)


def spelled(settings: Mapping[str, Setting]) -> str:
    """Return settings in a line."""
    parts = []
    for name, setting in settings.items():
        words = [
            counted(setting.instances, "instance") if setting.instances else "",
            f"delay {time(setting.delay_us)}" if setting.delay_us is not None else "",
            f"batch {setting.batch}" if setting.batch is not None else "",
        ]
        parts.append(" ".join([name, *filter(None, words)]))
    return ", ".join(parts)


def _busy(found: Judgement) -> float:
    name = found.bottleneck
    return found.cores_use if name == CORES else found.models[name].use


def _reason(found: Judgement) -> str:
    name = found.bottleneck
    if name == CORES:
        return f"The processors are busy for {found.cores_use:.0%} of the time."
    model = found.models[name]
    return (
        f"The instances of {name} are busy for {model.use:.0%} of the time, with "
        f"batches of {model.batch_size:.3g} and {time(model.queue_us)} in its queue."
    )
