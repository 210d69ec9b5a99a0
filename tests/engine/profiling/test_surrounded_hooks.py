"""Functions that call ``execute`` of instances for a while."""

from __future__ import annotations

from types import SimpleNamespace

from blsnb.engine.profiling.surrounded_hooks import surrounded


def around(name):
    """Return a function that names itself around what it calls."""

    def call(execution, hook, requests):
        return f"{name}({execution} {hook(requests)})"

    return call


def test_a_function_is_around_the_one_that_an_instance_has():
    """Afterwards each instance has what it had."""
    device = around("device")
    plain, placed = SimpleNamespace(around=None), SimpleNamespace(around=device)
    measured = around("measured")

    with surrounded([plain, placed], measured):
        assert measured is plain.around
        assert "measured(run device(run hook of 3))" == placed.around(
            "run", "hook of {}".format, 3
        )
    assert (None, device) == (plain.around, placed.around)
