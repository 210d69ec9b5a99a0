"""The metrics of a server and the text of its metrics page."""

from __future__ import annotations

import bisect
import itertools
import math
import re
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from blsnb.pb_utils.backend import Refusal
from blsnb.printable import printable

Labels = tuple[tuple[str, str], ...]
_METRIC_NAME = r"(?!__)[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL_NAME = r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*"
_KINDS = ("COUNTER", "GAUGE", "HISTOGRAM", "SUMMARY")
"""Kinds of metrics, in the order of the page."""


class MetricLine(NamedTuple):
    """One line of the page."""

    name: str
    labels: Labels
    value: float


class LabelledValue:
    """A counter or a gauge with its labels and value.

    References
    ----------
    core: src/metric_family.cc, Metric
    """

    __slots__ = ("__weakref__", "_kind", "_lock", "_value", "labels")

    def __init__(self, kind: str, labels: Labels) -> None:
        self.labels = labels
        self._kind = kind
        self._value = 0.0
        self._lock = threading.Lock()

    def increment(self, value: float) -> None:
        """Add a number; a counter takes no negative one."""
        if self._kind == "COUNTER" and value < 0:
            raise Refusal(
                "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented "
                "monotonically by non-negative values."
            )
        with self._lock:
            self._value += value

    def set(self, value: float) -> None:
        """Set a gauge."""
        if self._kind != "GAUGE":
            raise self._refused("Set")
        with self._lock:
            self._value = value

    def observe(self, value: float) -> None:
        """Refuse the operation, which only histograms support."""
        raise self._refused("Observe")

    def value(self) -> float:
        """Return the value."""
        return self._value

    def _refused(self, operation: str) -> Refusal:
        kind = f"TRITONSERVER_METRIC_KIND_{self._kind}"
        return Refusal(f"{kind} does not support {operation}")

    def rows(self, name: str) -> Iterator[MetricLine]:
        """Return the lines of the page."""
        yield MetricLine(name, self.labels, self._value)


class BucketCounts(LabelledValue):
    """Counts of values by bucket."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, labels: Labels, bounds: tuple[float, ...]) -> None:
        super().__init__("HISTOGRAM", labels)
        if any(low >= high for low, high in itertools.pairwise(bounds)):
            raise Refusal("Bucket Boundaries must be strictly sorted")
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def increment(self, value: float) -> None:
        """Refuse the operation: a histogram only observes."""
        raise self._refused("Increment")

    def observe(self, value: float) -> None:
        """Count a value."""
        with self._lock:
            self._counts[bisect.bisect_left(self._bounds, value)] += 1
            self._sum += value

    def value(self) -> float:
        """Refuse the operation: a histogram has no single value."""
        raise self._refused("Value")

    def rows(self, name: str) -> Iterator[MetricLine]:
        """Return the lines of the page: count, sum and cumulative buckets."""
        with self._lock:
            counts, total = list(self._counts), self._sum
        yield MetricLine(f"{name}_count", self.labels, sum(counts))
        yield MetricLine(f"{name}_sum", self.labels, total)
        for number, bound in enumerate((*self._bounds, math.inf), 1):
            labels = (*self.labels, ("le", _number(bound)))
            yield MetricLine(f"{name}_bucket", labels, sum(counts[:number]))


class Family:
    """The samples of one name; a sample lives as long as its model uses it.

    References
    ----------
    core: src/metric_family.cc, MetricFamily
    """

    def __init__(self, name: str, description: str, kind: str) -> None:
        self.name = name
        self.description = description
        self.kind = kind
        self._samples: weakref.WeakValueDictionary[Labels, LabelledValue] = (
            weakref.WeakValueDictionary()
        )
        self._lock = threading.Lock()

    def sample(
        self, labels: Mapping[str, object], bounds: tuple[float, ...]
    ) -> LabelledValue:
        """Return the sample with these labels; create it if it does not exist.

        Raises
        ------
        Refusal
            A label is not valid, or the bounds do not ascend.
        """
        key = _checked(labels)
        with self._lock:
            sample = self._samples.get(key)
            if sample is None:
                sample = (
                    BucketCounts(key, bounds)
                    if self.kind == "HISTOGRAM"
                    else LabelledValue(self.kind, key)
                )
                self._samples[key] = sample
            return sample

    def rows(self) -> Iterator[MetricLine]:
        """Return the lines of the page, oldest sample first."""
        with self._lock:
            samples = list(self._samples.values())
        for sample in samples:
            yield from sample.rows(self.name)


def _checked(labels: Mapping[str, object]) -> Labels:
    texts = []
    for name, value in labels.items():
        if not isinstance(value, str):
            raise Refusal("attempt to access JSON non-string as string")
        texts.append((name, value))
    if not all(re.fullmatch(_LABEL_NAME, name) for name in labels):
        raise Refusal("Invalid label name")
    return tuple(sorted(texts))


class Fixed(NamedTuple):
    """A snapshot of one of the server's own families."""

    name: str
    description: str
    kind: str
    lines: tuple[MetricLine, ...]

    def rows(self) -> tuple[MetricLine, ...]:
        """Return the lines of the page."""
        return self.lines


class MetricRegistry:
    """The families of all models; a family is never removed.

    Parameters
    ----------
    reserved
        Names and kinds of the server's own families.
    """

    def __init__(self, reserved: Mapping[str, str]) -> None:
        self._reserved = dict(reserved)
        self._families: dict[str, Family] = {}
        self._lock = threading.Lock()

    def family(self, name: str, description: str, kind: str) -> Family:
        """Return the family of a name; create it if it does not exist.

        Raises
        ------
        Refusal
            The name is not valid, or another family of another kind has it.
        """
        with self._lock:
            family = self._families.get(name)
            taken = self._reserved.get(name, kind) if family is None else family.kind
            if taken != kind:
                raise Refusal("Family name already exists with different type")
            if family is None:
                if not re.fullmatch(_METRIC_NAME, name):
                    raise Refusal("Invalid metric name")
                family = self._families[name] = Family(name, description, kind)
            return family

    def exposition(self, own: Iterable[Fixed]) -> str:
        """Return the metrics page as Prometheus text, including the own families."""
        with self._lock:
            families: list[Fixed | Family] = [*own, *self._families.values()]
        blocks: dict[str, list[str]] = {}
        for family in sorted(families, key=lambda each: _KINDS.index(each.kind)):
            lines = [_line(row) for row in family.rows()]
            if lines and family.name not in blocks:
                kind = family.kind.lower()
                said = "\n".join(map(printable, family.description.split("\n")))
                head = f"# HELP {family.name} {said}\n"
                blocks[family.name] = [f"{head}# TYPE {family.name} {kind}\n"]
            if lines:
                blocks[family.name] += lines
        return "".join(line for block in blocks.values() for line in block)


def _line(row: MetricLine) -> str:
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in row.labels)
    name = f"{row.name}{{{labels}}}" if labels else row.name
    return f"{name} {_number(row.value)}\n"


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return printable(text)


def _number(value: float) -> str:
    """Return a number in the C++ library's format: sixteen digits, ``Nan``."""
    if math.isnan(value):
        return "Nan"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.16g}"
