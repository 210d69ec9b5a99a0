"""MetricFamily and Metric: a model's own metrics on the server's metrics page."""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, cast

from blsnb.pb_utils.backend import (
    EngineCalls,
    MetricSample,
    Refusal,
    SampleFamily,
    UnboundBackend,
    refusal_error,
)
from blsnb.pb_utils.compiled.compiled_type import (
    Compiled,
    CompiledType,
    no_constructor,
)
from blsnb.pb_utils.compiled.enums import MetricKind
from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.compiled.signature import NO_CAST, compiled, expect, real, string

T = TypeVar("T")

_METRIC = "self: c_python_backend_utils.Metric"
_DELETED = (
    "Invalid metric operation as the corresponding 'MetricFamily' has been deleted. "
    "The 'MetricFamily' object should be deleted AFTER its corresponding 'Metric' "
    "objects have been deleted."
)
_HISTOGRAM = MetricKind(2)
_ESCAPE = r"\\ud[89ab]..\\ud[c-f]..|(?P<half>\\ud[89ab])|\\."


class Metric(Compiled):
    """One metric of a family, identified by its labels.

    References
    ----------
    python_backend: src/metric.cc
    """

    __slots__ = ("_backend", "_family", "_sample")
    _backend: EngineCalls
    _family: weakref.ref[MetricFamily]
    _sample: weakref.ref[MetricSample]
    __init__ = no_constructor("Metric")

    @compiled(f"increment({_METRIC}, arg0: float) -> None")
    def increment(self, value: float, /) -> None:
        """Add to a counter or a gauge.

        Raises
        ------
        TritonModelException
            The metric is of another kind, or the family was deleted.
        """
        number = real(value)
        self._do("increment", lambda sample: sample.increment(number))

    @compiled(f"set({_METRIC}, arg0: float) -> None")
    def set(self, value: float, /) -> None:
        """Set a gauge.

        Raises
        ------
        TritonModelException
            The metric is of another kind, or the family was deleted.
        """
        number = real(value)
        self._do("set", lambda sample: sample.set(number))

    @compiled(f"observe({_METRIC}, arg0: float) -> None")
    def observe(self, value: float, /) -> None:
        """Count a value in the bucket of a histogram.

        Raises
        ------
        TritonModelException
            The metric is of another kind, or the family was deleted.
        """
        number = real(value)
        self._do("observe", lambda sample: sample.observe(number))

    @compiled(f"value({_METRIC}) -> float")
    def value(self) -> float:
        """Return the value of a counter or a gauge.

        Raises
        ------
        TritonModelException
            The metric is of another kind, or the family was deleted.
        """
        return self._do("get", lambda sample: sample.value())

    def _do(self, verb: str, operation: Callable[[MetricSample], T]) -> T:
        failure = f"Failed to {verb} metric value: "
        sample = None if self._family() is None else self._sample()
        if sample is None:
            raise TritonModelException(failure + _DELETED)
        try:
            return operation(sample)
        except Refusal as refusal:
            raise refusal_error(self._backend, failure, refusal) from None


_Metric = Metric
"""In the class `MetricFamily`, `Metric` is a method."""


class MetricFamily(Compiled):
    """All metrics of one name; models that create the same family share it.

    Its metrics exist as long as this object.

    Parameters
    ----------
    name, description
        Shown on the metrics page.
    kind
        ``MetricFamily.COUNTER``, ``GAUGE`` or ``HISTOGRAM``.

    Raises
    ------
    TritonModelException
        The name is invalid, or belongs to a family of another kind.

    References
    ----------
    python_backend: src/metric_family.cc
    """

    __slots__ = ("_kind", "_samples", "_server_family")
    _backend: EngineCalls = UnboundBackend()
    COUNTER, GAUGE, HISTOGRAM = MetricKind.__members__.values()
    _kind: Any
    _samples: list[MetricSample]
    _server_family: SampleFamily

    @compiled(
        "c_python_backend_utils.MetricFamily(name: str, description: str, "
        "kind: c_python_backend_utils.MetricKind)"
    )
    def __init__(self, name: str, description: str, kind: Any) -> None:
        expect(kind, MetricKind)
        name, description = string(name), string(description)
        self._kind = kind
        self._samples = []
        try:
            self._server_family = self._backend.metric_family(
                name, description, kind.name
            )
        except Refusal as refusal:
            failure = "Error when creating MetricFamily: "
            raise refusal_error(self._backend, failure, refusal) from None

    @compiled(
        "Metric(self: c_python_backend_utils.MetricFamily, labels: object = None, "
        "buckets: object = None) -> c_python_backend_utils.Metric"
    )
    def Metric(self, labels: Any = None, buckets: Any = None) -> _Metric:
        """Return the metric with these labels.

        Parameters
        ----------
        labels
            Names and values, all strings.
        buckets
            Upper bounds of a histogram's buckets, ascending.

        Raises
        ------
        TritonModelException
            Labels or buckets are invalid.
        """
        text = _labels(labels)
        bounds = _bounds(buckets, self._kind)
        try:
            sample = self._server_family.sample(_received(text), bounds)
        except Refusal as refusal:
            failure = "Error when creating Metric: "
            raise refusal_error(self._backend, failure, refusal) from None
        self._samples.append(sample)
        metric: _Metric = object.__new__(_Metric)
        metric._backend = self._backend
        metric._family = weakref.ref(self)
        metric._sample = weakref.ref(sample)
        return metric


def _labels(labels: Any) -> str:
    """Return labels as the JSON that is sent to the server."""
    if labels is None:
        return "{}"
    if not isinstance(labels, dict):
        raise TritonModelException(
            "Failed to create metric. Labels must be a dictionary."
        )
    return json.dumps(labels)


def _received(text: str) -> dict[str, Any]:
    """Return labels as the server reads them: keys are strings.

    Raises
    ------
    Refusal
        A text has the first half of a surrogate pair alone.

    References
    ----------
    common: include/triton/common/triton_json.h, Parse
    """
    half = next((each for each in re.finditer(_ESCAPE, text) if each["half"]), None)
    if half is not None:
        raise Refusal(
            "failed to parse the request JSON buffer: The surrogate pair in string is "
            f"invalid. at {half.start()}"
        )
    labels: dict[str, Any] = json.loads(text)
    return labels


def _bounds(buckets: Any, kind: Any) -> tuple[float, ...]:
    if buckets is None:
        if kind == _HISTOGRAM:
            raise TritonModelException(
                "Failed to create metric. Missing required buckets."
            )
        return ()
    if not isinstance(buckets, list):
        raise TritonModelException("Failed to create metric. Buckets must be a list.")
    if kind != _HISTOGRAM:
        raise TritonModelException("Failed to create metric. Unexpected buckets found.")
    try:
        return tuple(map(real, buckets))
    except Exception:
        raise RuntimeError(NO_CAST) from None


def bound_metric_family(backend: EngineCalls) -> type[MetricFamily]:
    """Return the class that creates families on an instance's server."""
    body = {"__slots__": (), "__module__": Metric.__module__, "_backend": backend}
    bound: Any = CompiledType("MetricFamily", (MetricFamily,), body)
    return cast("type[MetricFamily]", bound)
