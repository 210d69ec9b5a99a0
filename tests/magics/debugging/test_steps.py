"""Specification of steps into child models and back."""

from __future__ import annotations

import pytest

from .cells import ASYNC, AWAITING, GATHERING, PARENT, SYNC, line_of, run_of

pytestmark = pytest.mark.notebook


@pytest.mark.parametrize(
    ("parent", "child", "at"),
    [
        (PARENT, SYNC, "inner.exec()"),
        (PARENT, ASYNC, "inner.exec()"),
        (AWAITING, SYNC, "await"),
        (AWAITING, ASYNC, "await"),
        # Under load its Step Out still ends the cell about once in a hundred runs.
        pytest.param(GATHERING, SYNC, "gather", marks=pytest.mark.slow),
    ],
    ids=["exec", "exec of async", "async_exec", "async_exec of async", "gather"],
)
def test_one_step_in_reaches_the_cell_of_the_child(off, parent, child, at):
    """Step Out returns to the parent's next line; no frame of blsnb is in between."""
    child = child.format(name="child")
    off.run(child)
    off.run(parent)
    off.attach()
    off.set_dots(parent, line_of(parent, at))
    request = off.start(run_of("parent"))
    thread = off.stop_of(request)
    thread = off.step("stepIn", thread, request)
    inside = off.stack(thread)
    thread = off.step("stepOut", thread, request)
    after = off.where(thread)
    off.set_dots(parent)
    off.finish(thread, request)

    first = (off.path_of(child), line_of(child, "responses = []"))
    assert first == (inside[0]["source"]["path"], inside[0]["line"])
    assert [] == [each for each in inside if "/blsnb/" in each["source"]["path"]]
    assert off.path_of(parent) == after[0]
    assert after[1] >= line_of(parent, at)


@pytest.mark.parametrize("child", [SYNC, ASYNC], ids=["sync", "async"])
def test_step_out_of_a_child_with_a_dot_returns_to_the_parent(off, child):
    """The child runs on another thread, and no step has led there."""
    child = child.format(name="child")
    off.run(child)
    off.run(AWAITING)
    off.attach()
    off.set_dots(child, line_of(child, "self.factor)"))
    request = off.start(run_of("parent"))
    thread = off.stop_of(request)
    inside = off.where(thread)
    thread = off.step("stepOut", thread, request)
    after = off.where(thread)
    off.finish(thread, request)

    assert (off.path_of(child), line_of(child, "self.factor)")) == inside
    assert off.path_of(AWAITING) == after[0]
    assert after[1] >= line_of(AWAITING, "await")


@pytest.mark.parametrize("step", ["next", "stepIn"])
def test_a_step_past_the_end_of_a_coroutine_ends_with_it(kernel, step):
    """The next request of the thread stops at no line without a dot."""
    cell = ASYNC.format(name="child")
    kernel.run(cell)
    kernel.set_dots(cell, line_of(cell, "return responses"))
    request = kernel.start(run_of("child"))
    thread = kernel.step(step, kernel.stop_of(request), request)
    kernel.finish(thread, request)
    kernel.set_dots(cell)

    assert [] == kernel.stops_of(run_of("child"))
