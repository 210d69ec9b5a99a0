"""Which steps are needed, and with which shapes tensors pass between batches."""

from __future__ import annotations

import pytest
from model.ensembles import DECOUPLED, IO, ins, model, outs, step

from blsnb.engine.scheduling.ensembles.plan import converted

from ..ensemble_runs import plan

TWO = (step("a", made="Y=Y1"), step("b", made="Y=Y2"))
TWO_OUT = ins() + outs("Y1") + outs("Y2")


def needed(planned, *outputs):
    return sorted(set().union(*planned.consumers(set(outputs)).values()))


def test_all_steps_are_needed_for_all_outputs() -> None:
    """No step is left out."""
    planned = plan(*TWO, io=TWO_OUT)

    assert [0, 1] == needed(planned, "Y1", "Y2")


def test_steps_for_outputs_that_are_not_requested_are_left_out() -> None:
    """Steps that only they need are left out, too."""
    planned = plan(
        step("a", made="Y=A"),
        step("b", made="Y=B"),
        step("c", "X=A Z=B", "Y=Y1"),
        step("d", "X=B", "Y=Y2"),
        io=TWO_OUT,
    )

    assert [0, 1, 2] == needed(planned, "Y1")
    assert [1, 3] == needed(planned, "Y2")


def test_a_step_is_needed_for_one_of_its_outputs() -> None:
    """All mapped outputs are requested from it."""
    planned = plan(step(made="Y=Y1 Z=Y2"), io=TWO_OUT)

    assert [0] == needed(planned, "Y2")


def test_a_needed_output_that_is_not_requested_is_left_out() -> None:
    """Steps that depend on it never run, as on Triton."""
    planned = plan(step("a", made="Y=Y1"), step("b", "X=Y1", "Y=Y2"), io=TWO_OUT)

    assert [1] == needed(planned, "Y2")
    assert [] == needed(planned, "Y1")


def test_an_unused_input_counts_as_an_output_of_the_first_step() -> None:
    """The first step is left out although it is needed, as on Triton."""
    steps = (step("a", made="Y=Y2"), step("b", "X=Z", "Y=Y1"))
    planned = plan(*steps, io=ins("Z") + TWO_OUT)

    assert [] == needed(planned, "Y2")
    assert [1] == needed(planned, "Y1")


def test_outputs_come_in_the_order_of_a_hash_table() -> None:
    """The order of six names is that of a real server."""
    names = [f"OUT{n}" for n in range(6)]
    io = ins() + "".join(map(outs, names))
    planned = plan(*(step(made=f"Y={name}") for name in names), io=io)

    assert ["OUT4", "OUT3", "OUT2", "OUT1", "OUT5", "OUT0"] == list(planned.outputs)


def test_a_step_knows_its_model_and_its_names() -> None:
    """Names are sorted, since maps have no order."""
    (planned,) = plan(
        step("c", "X=X B=X A=X", version="model_version: 3"),
        models={"c": model(IO, ins("A"), ins("B"))},
    ).steps

    assert ("c", 3, 0) == (planned.model, planned.version, planned.index)
    assert ["A", "B", "X"] == list(planned.inputs)


@pytest.mark.parametrize(
    ("shape", "dims", "batching", "batch_size", "passed"),
    [
        ((1, 2), (-1,), False, 1, (2,)),
        ((2, 2), (-1,), False, 2, (2, 2)),
        ((1, 2), (-1, 2), False, 1, (1, 2)),
        ((2, 2), (-1, 2), False, 2, (2, 2)),
        ((3,), (-1,), True, 0, (1, 3)),
        ((3, 2), (2,), True, 0, (3, 2)),
        ((3, 2), (3,), True, 0, (3, 2)),
        ((4, 2), (4, 2), True, 4, (4, 2)),
        ((2,), (3,), False, 0, (2,)),
    ],
    ids=[
        "a batch of one is stripped",
        "a batch of two cannot be",
        "a batch of one that fits is passed as it is",
        "and one of two",
        "a batch of one is made",
        "what has one axis more is a batch",
        "even if another axis was meant",
        "batches stay",
        "what has no batch on either side stays",
    ],
)
def test_batches_and_single_tensors_are_converted(
    shape, dims, batching, batch_size, passed
) -> None:
    """Shapes change only if one side batches and the other does not."""
    assert passed == converted(shape, dims, batching=batching, batch_size=batch_size)


def test_a_step_that_writes_its_own_input_is_endless() -> None:
    """Triton loads it, and a request to it never ends."""
    around = (step("a", made="Y=A"), step("b", "X=A", "Y=X"), step("c"))
    planned = plan(*around)

    assert ["a", "b"] == [each.model for each in planned.endless if each.model != "c"]


def test_a_step_that_writes_the_input_of_others_is_not_endless() -> None:
    """The other steps run twice."""
    planned = plan(step("a", "X=Z", "Y=X"), step("c"), io=ins("Z") + IO)

    assert () == planned.endless


def test_decoupled_is_taken_from_the_configuration() -> None:
    """It was computed when the ensemble was loaded."""
    assert plan(step(), more=DECOUPLED).decoupled
    assert not plan(step()).decoupled
