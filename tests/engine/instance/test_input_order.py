"""The order of a request's inputs, found once and remembered."""

import itertools

import numpy as np

from blsnb.engine.instance import inputs
from blsnb.engine.instance.inputs import InputOrder
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef


def refs(names):
    """Return tensors with these names."""
    data = np.zeros(1, np.float32).tobytes()
    return tuple(TensorRef(name, BY_DATATYPE["FP32"], (1,), data) for name in names)


def met(order, names, extra=""):
    """Return the names in the order of the model's inputs."""
    return "".join(ref.name for ref in order.of(refs(names), refs(extra)))


def test_inputs_of_the_scheduler_take_precedence():
    """They replace a client's input of the same name."""
    extra = refs("X")
    assert extra == InputOrder().of(refs("X"), extra)


def test_the_same_names_have_the_same_order():
    """Other names in between do not matter."""
    order = InputOrder()
    several = ["".join(each) for each in itertools.permutations("ABCDEF")]
    once = [met(order, names) for names in several]
    assert once == [met(order, names) for names in several]
    assert {"ABCDEF"} == {"".join(sorted(each)) for each in once}


def test_the_orders_of_512_sets_of_names_are_remembered(monkeypatch):
    """Then all are forgotten."""
    found = []

    def hash_order(names):
        found.append(names)
        return list(names)

    monkeypatch.setattr(inputs, "hash_order", hash_order)
    order = InputOrder()
    for number in (*range(512), 0, 511, 512, 0, 512):
        order.of(refs([f"name {number}"]))

    # Each order is that of two hash tables.
    assert 2 * (512 + 2) == len(found)


def test_the_origin_of_an_input_changes_the_order():
    """A client's input passes through one more hash table."""
    assert met(InputOrder(), "ABC") != met(InputOrder(), "AB", "C")
