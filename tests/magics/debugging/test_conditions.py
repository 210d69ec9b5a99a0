"""Specification of conditional breakpoints and logpoints in cells of models."""

from __future__ import annotations

import pytest

from .cells import SYNC, line_of, run_of

pytestmark = pytest.mark.notebook
REPEATED = "import blsnb\nfor n in range(3):\n    blsnb.infer('dotted', {'X': [n]})"


def test_a_conditional_breakpoint_stops_where_its_condition_holds(kernel):
    """The condition sees the variables of the model."""
    source = SYNC.format(name="dotted")
    kernel.run(source)
    kernel.set_dots(source, line_of(source, "self.factor)"), condition="x[0] == 2")

    assert 1 == len(kernel.stops_of(REPEATED.replace("[n]", "[float(n)]")))


def test_a_logpoint_writes_a_line_and_does_not_stop(kernel):
    """Names in braces are replaced by the model's variables."""
    source = SYNC.format(name="logged")
    kernel.run(source)
    line = line_of(source, "self.factor)")
    kernel.set_dots(source, line, logMessage="x is {x[0]}")

    assert "x is 1.0" in kernel.logged(run_of("logged"))
