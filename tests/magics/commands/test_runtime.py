"""Specification of %triton runtime."""

import pytest
from IPython.core.error import UsageError

from blsnb.magics import default_server as default
from blsnb.options import options
from blsnb.parts.server_parts import parts_of

from ..models import DOUBLE


@pytest.fixture(autouse=True)
def _as_before():
    before = options.runtime, options.hostile_placement
    yield
    options.runtime, options.hostile_placement = before


def test_the_runtime_is_printed_with_its_reason(notebook):
    """Without a name the runtime does not change."""
    said = notebook.run("%triton runtime").stdout

    server = default.server()
    what = f"{server.runtime.name}: {server.runtime.describe()}"
    assert f"{what}, since {parts_of(server).devices.reason}\n" == said


def test_another_runtime_loads_the_models_anew(notebook):
    """All models are reloaded, and the next default server uses the runtime, too."""
    notebook.run(DOUBLE)
    said = notebook.run("%triton runtime simulated").stdout

    assert said.startswith("simulated: 1 device simulated in the host's memory")
    group = default.server().config("double")["instance_group"][0]
    assert "KIND_GPU" == group["kind"]
    assert "simulated" == options.runtime
    notebook.run("%triton runtime numpy")
    group = default.server().config("double")["instance_group"][0]
    assert "KIND_CPU" == group["kind"]


def test_a_model_that_cannot_follow_is_named(notebook):
    """A model that does not load on the new runtime stays unchanged."""
    notebook.run("%triton runtime simulated")
    notebook.run(DOUBLE.replace("_model double", "_model double --kind gpu"))
    said = notebook.run("%triton runtime numpy").stdout

    assert said.startswith("double stays as it was: ")
    assert "no GPUs are available" in said


@pytest.mark.parametrize("words", ["torch", "numpy cupy"])
def test_an_unknown_runtime_is_refused(notebook, words):
    """The error lists the runtimes; the setting does not change."""
    ran = notebook.run(f"%triton runtime {words}")

    assert isinstance(ran.error, UsageError)
    assert "simulated" in str(ran.error)
    assert "auto" == options.runtime


def test_hostile_placement_is_printed(notebook):
    """The line contains the seed of the option `hostile_placement`."""
    options.hostile_placement = 7
    default.close_default()
    said = notebook.run("%triton runtime").stdout

    assert "hostile placement, seed 7" in said
