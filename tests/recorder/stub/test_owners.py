"""Specification of the owner of a BLS call: known for certain, or not named."""

from __future__ import annotations

import asyncio
import threading

import pytest

from blsnb.recorder.stub.executions import RecordedCall, RecordedExecution
from blsnb.recorder.stub.owners import Owners

WAIT_S = 60


def owner_in_thread(owners: Owners) -> list[object]:
    """Return the owner of a call that a thread of the model makes."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(owners.owner()))
    owners.adopt(thread)
    thread.start()
    thread.join(WAIT_S)
    return found


def opened(owners: Owners, *, alone: bool) -> RecordedExecution:
    """Open an execution of one request on this thread."""
    execution = RecordedExecution([RecordedCall("m", 1)], alone)
    owners.open[execution.number] = execution
    owners.enter(execution, ["request"] * 2)
    return execution


@pytest.mark.parametrize("alone", [True, False])
def test_a_call_of_a_thread_is_named_only_if_one_execution_is_open(alone):
    """The thread may work for any of several."""
    owners = Owners(True)
    execution = opened(owners, alone=alone)
    [found] = owner_in_thread(owners)

    assert (execution if alone else None) == getattr(found, "execution", None)


def test_a_call_of_the_executing_thread_is_certain_beside_other_executions():
    """It is that of `execute`, until it returns."""
    owners = Owners(True)
    execution = opened(owners, alone=False)
    found = owners.owner()
    execution.running = False

    assert found is not None
    assert execution is found.execution
    assert owners.owner() is None


def test_a_call_of_the_executing_task_is_certain_but_not_that_of_another():
    """A task that a model starts may work for any of several executions."""
    owners = Owners(True)

    async def other() -> object:
        return owners.owner()

    async def execute() -> tuple[RecordedExecution, object, object]:
        execution = opened(owners, alone=False)
        return execution, owners.owner(), await asyncio.create_task(other())

    execution, own, of_other = asyncio.run(execute())

    assert execution is getattr(own, "execution", None)
    assert of_other is None


def test_a_call_after_the_end_of_its_execution_has_no_owner():
    """The thread continues when all responses were sent."""
    owners = Owners(True)
    execution = opened(owners, alone=True)
    del owners.open[execution.number]
    [found] = owner_in_thread(owners)

    assert found is None
