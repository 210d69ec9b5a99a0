"""Which waits would never end on Triton, and how they are described."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from blsnb.engine.request.deadlock import (
    Deadlock,
    is_deadlocked,
    is_held_by_callers,
    lacks_resources,
    wait_cycle,
)


class Pool:
    """The instances of a model, some of which hold resources that others lack."""

    def __init__(self, *instances, holders=()):
        self.instances = list(instances)
        self._holders = list(holders)

    def resource_holders(self):
        return self._holders


def request(model="m", line=0, **facts):
    """Return a request in flight that nothing executes yet."""
    known = {"final": False, "steps": None, "waiting_for": None, "execution": None}
    return SimpleNamespace(
        message=SimpleNamespace(model_name=model),
        call=SimpleNamespace(line=line, parent=None),
        **(known | facts),
    )


def busy(name, blocked_on=None):
    """Return an instance that executes, and what its thread waits for."""
    instance = SimpleNamespace(name=name)
    instance.execution = SimpleNamespace(instance=instance, blocked_on=blocked_on)
    return instance


def free(name):
    """Return an instance without an execution."""
    return SimpleNamespace(name=name, execution=None)


def circle(*further, holders=()):
    """Return a request to 'a' by its only instance, and by further ones."""
    inner = request("a", line=7)
    inner.waiting_for = Pool(busy("a_0", inner), *further, holders=holders)
    return inner


def test_a_model_that_calls_itself_would_hang():
    """Each call of the circle has a line."""
    waiting = circle()

    assert is_deadlocked(waiting) is True
    assert [
        "a request to a waits (1 instance, all busy)",
        "a_0 waits in exec() of a at line 7",
    ] == wait_cycle(waiting)


@pytest.mark.parametrize("further", [free("a_1"), busy("a_1"), busy("a_1", request())])
def test_an_instance_that_may_become_free_ends_the_wait(further):
    """It has no execution, or one that waits for nothing stuck."""
    assert is_deadlocked(circle(further)) is False


def test_all_instances_may_wait_for_the_request():
    """Two is one too few."""
    waiting = circle()
    waiting.waiting_for.instances.append(busy("a_1", waiting))

    assert is_deadlocked(waiting) is True
    assert "a request to a waits (2 instances, all busy)" == wait_cycle(waiting)[0]


def test_a_circle_of_two_models_is_described_in_order():
    """A call without a known line has none."""
    inner = request("a")
    middle = request("b", line=3)
    middle.execution = busy("b_0", inner).execution
    inner.waiting_for = Pool(busy("a_0", middle))

    assert is_deadlocked(inner) is True
    assert [
        "a request to a waits (1 instance, all busy)",
        "a_0 waits in exec() of b at line 3",
        "b_0 waits in exec() of a",
    ] == wait_cycle(inner)


def test_a_response_that_has_come_ends_the_wait():
    """Its caller has only not continued yet."""
    waiting = circle()
    waiting.waiting_for.instances[0].execution.blocked_on = request(final=True)

    assert is_deadlocked(waiting) is False


def test_a_request_of_an_ensemble_waits_for_its_steps():
    """It is stuck if all running ones are."""
    step = request("b")
    outer = request("e", steps=SimpleNamespace(active=[step]))
    step.waiting_for = Pool(busy("b_0", outer))

    assert is_deadlocked(step) is True
    assert [
        "a request to b waits (1 instance, all busy)",
        "b_0 waits in exec() of e",
        "e is an ensemble and waits for its step",
    ] == wait_cycle(step)
    outer.steps.active.append(request("c", execution=busy("c_0").execution))
    assert is_deadlocked(step) is False
    outer.steps.active.clear()
    assert is_deadlocked(step) is False


def test_executions_that_hold_resources_may_wait_for_the_request():
    """A free instance does not help then."""
    waiting = request("a")
    holder = busy("b_0", waiting)
    waiting.waiting_for = Pool(free("a_0"), holders=[holder])

    assert is_deadlocked(waiting) is True
    assert [holder] == lacks_resources(waiting.waiting_for)
    assert [
        "a request to a waits (for resources of b_0)",
        "b_0 waits in exec() of a",
    ] == wait_cycle(waiting)
    holder.execution.blocked_on = None
    assert is_deadlocked(waiting) is False
    assert ["a request to a waits (for resources of b_0)"] == wait_cycle(waiting)


def test_a_model_without_a_free_instance_lacks_no_resources():
    """It waits for the instance first."""
    holder = busy("b_0")

    assert [] == lacks_resources(Pool(busy("a_0"), holders=[holder]))
    assert [holder] == lacks_resources(Pool(busy("a_0"), free("a_1"), holders=[holder]))


def test_a_wait_without_an_execution_ends_the_description():
    """All instances may have become free."""
    waiting = request("a", waiting_for=Pool(free("a_0"), free("a_1")))

    assert ["a request to a waits (2 instances, all busy)"] == wait_cycle(waiting)
    assert [] == wait_cycle(request("a"))


def test_the_error_has_the_lines():
    """Its text has one after the other."""
    error = Deadlock(["a", "b"])

    assert (["a", "b"], "a\nb") == (error.lines, str(error))


def test_a_request_may_wait_for_all_instances_that_execute_its_callers():
    """One other execution, of whatever client, or a free instance is enough to end."""
    client = SimpleNamespace(name="client", parent=None)
    waiting = request("a")
    waiting.call.parent = SimpleNamespace(parent=client)
    outer, inner, other = busy("a_0"), busy("a_1"), busy("a_2")
    outer.execution.inflights = [SimpleNamespace(call=client)]
    calls = (SimpleNamespace(name="another", parent=None), waiting.call.parent)
    inner.execution.inflights = [SimpleNamespace(call=call) for call in calls]
    other.execution.inflights = [SimpleNamespace(call=calls[0])]

    def held(*pool):
        waiting.waiting_for = Pool(*pool)
        return is_held_by_callers(waiting)

    assert [True, True] == [held(outer), held(outer, inner)]
    assert [False, False] == [held(outer, other), held(outer, free("a_3"))]
    assert [False, False] == [held(other), is_held_by_callers(request("a"))]
