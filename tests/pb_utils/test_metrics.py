"""Specification of MetricFamily and Metric."""

import gc

import numpy as np
import pytest

from blsnb.engine.metrics.registry import MetricRegistry
from blsnb.pb_utils.backend import UnboundBackend
from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.metrics import MetricFamily, bound_metric_family


class Backend(UnboundBackend):
    """A backend with a registry of metrics only."""

    def __init__(self):
        self.registry = MetricRegistry({"nv_count": "COUNTER"})

    def metric_family(self, name, description, kind):
        return self.registry.family(name, description, kind)

    def refusal_text(self, text):
        return f"<said> {text}"


@pytest.fixture
def backend():
    return Backend()


@pytest.fixture
def family_class(backend):
    return bound_metric_family(backend)


def text_of(action, *args, kind=TritonModelException):
    """Return the text of the error that an action raises."""
    with pytest.raises(kind) as caught:
        action(*args)
    return str(caught.value)


def metric(family_class, kind):
    """Return a family, which must be referenced, and one of its metrics."""
    family = family_class(f"a_{kind.lower()}", "", getattr(family_class, kind))
    buckets = [1, 2] if kind == "HISTOGRAM" else None
    return family, family.Metric({"a": "b"}, buckets)


OPERATIONS = [
    ("COUNTER", "set", "set", "Set"),
    ("COUNTER", "observe", "observe", "Observe"),
    ("GAUGE", "observe", "observe", "Observe"),
    ("HISTOGRAM", "increment", "increment", "Increment"),
    ("HISTOGRAM", "set", "set", "Set"),
    ("HISTOGRAM", "value", "get", "Value"),
]


@pytest.mark.parametrize(("kind", "method", "verb", "operation"), OPERATIONS)
def test_a_kind_has_its_operations(family_class, kind, method, verb, operation):
    """The others are refused, with the kind's name in Triton's C interface."""
    family, made = metric(family_class, kind)
    arguments = () if method == "value" else (1,)

    assert (
        f"Failed to {verb} metric value: <said> TRITONSERVER_METRIC_KIND_{kind} does "
        f"not support {operation}"
    ) == text_of(getattr(made, method), *arguments)
    assert 0 == family.COUNTER


def test_a_counter_only_rises(family_class):
    """It can be incremented by zero or more."""
    _family, counter = metric(family_class, "COUNTER")
    counter.increment(2)
    counter.increment(np.float32(0.5))

    assert (
        "Failed to increment metric value: <said> TRITONSERVER_METRIC_KIND_COUNTER "
        "can only be incremented monotonically by non-negative values."
    ) == text_of(counter.increment, -1e-9)
    assert 2.5 == counter.value()


def test_a_gauge_takes_any_value(family_class):
    """It is incremented, decremented and set."""
    _family, gauge = metric(family_class, "GAUGE")
    gauge.set(5)
    gauge.increment(-7)

    assert -2 == gauge.value()


def test_same_name_and_labels_are_one_metric(family_class):
    """Neither the family object nor the order of labels matters."""
    one = family_class("one", "", family_class.COUNTER)
    two = family_class("one", "other words", family_class.COUNTER)
    one.Metric({"a": "1", "b": "2"}).increment(3)

    assert 3 == two.Metric({"b": "2", "a": "1"}).value()
    assert 0 == two.Metric().value()


def test_metrics_end_with_their_family(family_class):
    """Operations of a remaining metric object raise an error."""
    made = family_class("gone", "", family_class.COUNTER).Metric()
    gc.collect()

    assert (
        "Failed to get metric value: Invalid metric operation as the corresponding "
        "'MetricFamily' has been deleted. The 'MetricFamily' object should be deleted "
        "AFTER its corresponding 'Metric' objects have been deleted."
    ) == text_of(made.value)


def test_a_metric_exists_while_one_of_its_families_does(backend, family_class):
    """It ends with the last of several family objects."""
    one, two = (family_class("both", "", family_class.GAUGE) for _ in "12")
    one.Metric().set(1)
    held = two.Metric()
    del one
    gc.collect()

    assert 1 == held.value()
    assert "both 1\n" in backend.registry.exposition(())
    del two
    gc.collect()
    assert "" == backend.registry.exposition(())


@pytest.mark.parametrize("name", ["nv_count", "taken"])
def test_a_name_keeps_its_kind(family_class, name):
    """It keeps it after its families were deleted."""
    family_class("taken", "", family_class.COUNTER)
    text = "Family name already exists with different type"

    assert f"Error when creating MetricFamily: <said> {text}" == text_of(
        family_class, name, "", family_class.GAUGE
    )
    assert 0 == family_class(name, "", family_class.COUNTER)._kind


@pytest.mark.parametrize("name", ["", "a-b", "1a", "__a", "é", "a b"])
def test_names_are_those_of_prometheus(family_class, name):
    """Letters, digits, underscores and colons; two underscores are reserved."""
    assert "Error when creating MetricFamily: <said> Invalid metric name" == text_of(
        family_class, name, "", family_class.GAUGE
    )


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ({"a": 1}, "attempt to access JSON non-string as string"),
        ({"": "a"}, "Invalid label name"),
        ({"a:b": "a"}, "Invalid label name"),
        ({"__a": "a"}, "Invalid label name"),
        ({1: "a"}, "Invalid label name"),
        ({1: 2}, "attempt to access JSON non-string as string"),
    ],
)
def test_labels_are_those_of_prometheus(family_class, labels, text):
    """Others are refused, values before names."""
    family = family_class("labelled", "", family_class.COUNTER)

    assert f"Error when creating Metric: <said> {text}" == text_of(
        family.Metric, labels
    )


@pytest.mark.parametrize(
    ("kind", "labels", "buckets", "text"),
    [
        ("GAUGE", (), (), "Labels must be a dictionary."),
        ("GAUGE", {}, (1,), "Buckets must be a list."),
        ("GAUGE", {}, [], "Unexpected buckets found."),
        ("COUNTER", {}, ["x"], "Unexpected buckets found."),
        ("HISTOGRAM", {}, None, "Missing required buckets."),
        ("HISTOGRAM", {}, "12", "Buckets must be a list."),
    ],
)
def test_labels_and_buckets_are_checked(family_class, kind, labels, buckets, text):
    """Labels first; a histogram requires buckets, other kinds refuse them."""
    family = family_class("checked", "", getattr(family_class, kind))

    assert f"Failed to create metric. {text}" == text_of(family.Metric, labels, buckets)


@pytest.mark.parametrize("bounds", [[1, 1], [2, 1]])
def test_buckets_ascend(family_class, bounds):
    """Others are refused."""
    family = family_class("spread", "", family_class.HISTOGRAM)
    text = "Bucket Boundaries must be strictly sorted"

    assert f"Error when creating Metric: <said> {text}" == text_of(
        family.Metric, {}, bounds
    )
    assert "Unable to cast" in text_of(family.Metric, {}, ["1"], kind=RuntimeError)


@pytest.mark.parametrize("value", ["1", None, 1j, 2**2000, np.zeros(2)])
def test_a_value_is_a_number(family_class, value):
    """Anything else is a TypeError with the signature."""
    _family, gauge = metric(family_class, "GAUGE")

    assert "(self: c_python_backend_utils.Metric, arg0: float) -> None" in text_of(
        gauge.set, value, kind=TypeError
    )


def test_a_metric_has_no_constructor(family_class):
    """Only a family creates one."""
    _family, gauge = metric(family_class, "GAUGE")

    assert "c_python_backend_utils.Metric: No constructor defined!" == text_of(
        type(gauge), kind=TypeError
    )


def test_outside_of_a_model_there_is_no_server():
    """The error says that the class is for models."""
    assert "MetricFamily() is for models only" == text_of(
        MetricFamily, "a", "", MetricFamily.GAUGE
    )
