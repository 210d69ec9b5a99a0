"""One line about a model."""

from __future__ import annotations

import pytest

from blsnb.model.config import parse_pbtxt
from blsnb.repository.status import ModelStatus, status_of

LEAF = """
name: "leaf" backend: "python" max_batch_size: 4
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_INT8 dims: [ 2 ] }
instance_group { count: 3 kind: KIND_CPU }
"""
ENSEMBLE = """
name: "both" platform: "ensemble"
input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
ensemble_scheduling {
  step { model_name: "a" model_version: -1
         input_map { key: "Q" value: "X" } input_map { key: "P" value: "X2" }
         output_map { key: "O" value: "M" } }
  step { model_name: "b" model_version: 2
         input_map { key: "I" value: "M" } output_map { key: "O" value: "Y" } }
}
"""
FEATURES = {"standin": "zeros", "origin": "cell In[3]", "trouble": ("newer",)}


def test_a_status_is_one_line():
    """Name, versions, state, inputs and outputs, time."""
    flow = (("X:FP32[-1]",), ("Y:FP32[-1]", "Z:INT8[2]"))
    status = ModelStatus("model", (1, 3), "READY", "", *flow, 0, 1, 0.0123)

    assert (
        "<model version 1,3 READY: X:FP32[-1] -> Y:FP32[-1], Z:INT8[2], "
        "loaded in 12.3 ms>"
    ) == repr(status)


def test_a_model_that_was_not_loaded_has_no_version_and_no_time():
    """The version is a dash."""
    status = ModelStatus("model", (), "not loaded", "", (), (), 0, 0, 0)

    assert "<model version - not loaded>" == repr(status)


def test_a_stand_in_and_a_model_without_inputs_are_on_the_line():
    """Foreign text is made safe to print."""
    status = ModelStatus(
        "m\n", (1,), "READY", "", (), ("Y:INT8[2]",), 0, 1, 0.0, standin="zeros"
    )

    assert "<m␊ version 1 READY (stand-in: zeros):  -> Y:INT8[2]>" == repr(status)


def test_a_serving_model_has_its_configuration_and_source():
    """Versions that do not serve do not count as long as one serves."""
    states = {3: ("READY", ""), 2: ("UNAVAILABLE", "unloaded"), 1: ("READY", "")}
    config = parse_pbtxt(LEAF)

    assert ModelStatus(
        "leaf",
        (1, 3),
        "READY",
        "",
        ("X:FP32[-1]",),
        ("Y:INT8[2]",),
        4,
        3,
        0.5,
        ("a note",),
        "zeros",
        (),
        origin="cell In[3]",
        trouble=("newer",),
    ) == status_of("leaf", states, config, 0.5, notes=("a note",), **FEATURES)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({}, ("not loaded", "")),
        ({1: ("UNAVAILABLE", "unloaded")}, ("UNAVAILABLE", "unloaded")),
        ({2: ("LOADING", ""), 1: ("UNAVAILABLE", "no")}, ("LOADING", "")),
    ],
)
def test_a_model_that_does_not_serve_has_no_time_and_no_stand_in(states, expected):
    """State and reason are those of its first version."""
    status = ModelStatus("leaf", (), *expected, (), (), 0, 0, 0.0, trouble=("newer",))

    assert status == status_of("leaf", states, None, 0.5, **FEATURES)


def test_a_python_model_without_tensors_is_a_finding():
    """Models of other backends may be completed by them."""
    ready = {1: ("READY", "")}
    bare, other = (
        status_of("m", ready, parse_pbtxt(f'name: "m" backend: "{backend}"'), 0)
        for backend in ("python", "onnxruntime")
    )

    assert (
        "it has no inputs: declare them with --input or in config.pbtxt",
        "it has no outputs: declare them with --output or in config.pbtxt",
    ) == bare.findings
    assert () == other.findings


def test_an_ensemble_has_a_line_for_each_step():
    """A step names its version if it has a fixed one; inputs are in order of names."""
    status = status_of("both", {1: ("READY", "")}, parse_pbtxt(ENSEMBLE), 0)

    assert ("a: X2, X -> M", "b version 2: M -> Y") == status.steps
