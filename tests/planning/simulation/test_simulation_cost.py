"""What a simulated call may cost, in a count that is the same on every machine."""

from __future__ import annotations

from engine.instructions import functions

from benchmarks.simulation import loads

FUNCTIONS = 150
"""Maximum calls of Python functions for a simulated call; 36 to 119 today."""
REQUESTS = 400


def functions_per_call(load):
    """Return how many Python functions are called for a simulated call."""
    load.simulate(REQUESTS)
    calls = []
    counted = functions(lambda: calls.append(load.simulate(REQUESTS)))
    return sum(counted.values()) / calls[0]


def test_a_simulated_call_costs_little_with_each_kind_of_scheduling():
    """A plan simulates many thousands of them while the user waits."""
    costs = {kind: functions_per_call(load) for kind, load in loads().items()}

    assert {} == {kind: cost for kind, cost in costs.items() if cost > FUNCTIONS}
