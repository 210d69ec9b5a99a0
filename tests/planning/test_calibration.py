"""A calibration as values and as text: sizes of batches, errors, what it is for."""

from __future__ import annotations

import math
import random

import pytest

from blsnb.planning.calibration import (
    HERE,
    TRITON,
    CalibratedModel,
    Calibration,
    Reproduction,
    by_size,
)
from blsnb.planning.simulation.simulation import Frontend

from .configs import MS, computes, config, waits

THREE = CalibratedModel(
    config("m"), {2: [waits(2, 2)], 4: [computes(6, 4)], 8: [waits(7, 8), waits(9, 8)]}
)
ONE = CalibratedModel(config("m"), {4: [waits(8, 4)]})


def test_executions_are_kept_by_their_sizes():
    """In the order in which they were observed."""
    first, other, last = waits(1), waits(2, 2), waits(3)

    assert {1: [first, last], 2: [other]} == by_size([first, other, last])
    assert [2, 4, 8] == THREE.sizes


@pytest.mark.parametrize(
    ("size", "mean_ms"),
    [(2, 2), (3, 4), (4, 6), (6, 7), (8, 8), (12, 10), (1, 1e-6)],
)
def test_a_mean_lies_on_a_line_through_its_neighbours(size, mean_ms):
    """Beyond the observed sizes on the last such line; it is never less than 1 ns."""
    assert mean_ms * MS == pytest.approx(THREE.mean_ns(size))


@pytest.mark.parametrize(("size", "mean_ms"), [(2, 4), (4, 8), (6, 12)])
def test_with_one_observed_size_work_is_in_proportion(size, mean_ms):
    """Nothing else is known."""
    assert mean_ms * MS == ONE.mean_ns(size)


@pytest.mark.parametrize(
    ("size", "own_ms"), [(2, 2), (3, 4), (4, 6), (6, 7), (1, 1e-6)]
)
def test_an_execution_of_another_size_is_one_of_the_next_smaller(size, own_ms):
    """It takes as much longer as the means do."""
    drawn = THREE.draw(size, random.Random(0))

    assert (size, own_ms * MS) == (drawn.size, pytest.approx(drawn.own_ns, abs=1))
    # Of the observed ones only those of size 4 compute.
    assert (size in (4, 6)) == (drawn.computing_ns > 0)


def test_an_execution_of_an_observed_size_is_one_of_them():
    """Each of them is drawn."""
    chance = random.Random(0)
    drawn = {THREE.draw(8, chance).own_ns for _ in range(20)}

    assert {7 * MS, 9 * MS} == drawn


def test_sizes_beyond_the_observed_ones_are_not_measured():
    """Those between them are, in a way."""
    assert [1, 9] == THREE.unmeasured([9, 2, 3, 8, 1])


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            Reproduction(2, 1000.0, 1100.0, 5.0, 5.0),
            "The calibration simulates 2 clients with a median of 1.10 ms; measured "
            "were 1 ms (+10%).",
        ),
        (
            Reproduction(1, 1000.0, 950.0, 5.0, 5.0, states_us=(100.0, 120.0)),
            "The calibration simulates 1 client with a median of 950 µs; measured were "
            "1 ms (-5%).",
        ),
        (
            Reproduction(3, 1000.0, 1000.0, 5.0, 5.0, states_us=(100.0, 121.0)),
            "The calibration simulates 3 clients with a median of 1 ms; measured were "
            "1 ms (+0%). It is 100 µs or 121 µs by chance: the clients stay together, "
            "or in turns, as they began.",
        ),
        (
            Reproduction(0, 1000.0, 1000.0, 1234.5, 5.0),
            "The calibration simulates 1,234 requests/s with a median of 1 ms; "
            "measured were 1 ms (+0%).",
        ),
        (
            Reproduction(0, 0.0, 1000.0, 5.0, 5.0, recorded=True),
            "The calibration simulates its recording with a median of 1 ms; measured "
            "were 0 µs (+0%).",
        ),
    ],
)
def test_a_reproduction_is_a_sentence(found, text):
    """Two medians that differ by more than a fifth are two states."""
    assert text == str(found)


def test_the_error_is_the_largest_of_all_reproductions():
    """Faster counts as slower; without any it is not known."""
    several = tuple(Reproduction(1, 100.0, us, 1, 1) for us in (110.0, 70.0, 120.0))

    assert pytest.approx(0.3) == calibration(reproductions=several).error
    assert math.isnan(calibration().error)


def calibration(*more: CalibratedModel, **fields) -> Calibration:
    """Return a calibration of a model, and of further ones that are not called."""
    models = {model.config.name: model for model in (THREE, *more)}
    return Calibration("m", HERE, models, 1.2345, **fields)


def test_a_calibration_is_a_table_with_its_findings():
    """Its repr has the models."""
    found = calibration(
        CalibratedModel(config("a"), {1: [computes(3)]}, 4_000),
        frontend=Frontend(30_000, 20_000, 7),
        remarks=("Not all was measured.",),
        reproductions=(Reproduction(1, 1000.0, 1000.0, 1.0, 1.0),),
    )

    assert (
        "m, observed for this kernel with its one interpreter lock on 1.23 processors\n"
        "model  batch  executions  own work  computing  overhead\n"
        "m      2      1           2 ms      0 µs       0 µs\n"
        "m      4      1           6 ms      6 ms       0 µs\n"
        "m      8      2           8 ms      0 µs       0 µs\n"
        "a      1      1           3 ms      3 ms       4 µs\n"
        "Outside of the models a request takes 50 µs.\n"
        "The calibration simulates 1 client with a median of 1 ms; measured were 1 ms "
        "(+0%).\n"
        "Not all was measured."
    ) == str(found)
    assert (
        "<Calibration of m for this kernel with its one interpreter lock: m, a>"
    ) == repr(found)
    assert [] == calibration().findings


@pytest.mark.parametrize(
    ("use", "text"),
    [
        ((HERE, "x"), "the calibration is of 'm'; expected one of 'x'"),
        (
            (TRITON, "m"),
            "the calibration is for target='here' (this kernel with its one "
            "interpreter lock); expected one for target='triton' (a process for each "
            "instance)",
        ),
    ],
)
def test_a_calibration_is_used_for_what_was_observed(use, text):
    """Another model or another world would be simulated wrongly."""
    calibration().check(HERE, "m")
    with pytest.raises(ValueError, match=r".") as refused:
        calibration().check(*use)
    assert text == str(refused.value)


def test_clients_in_a_closed_loop_have_their_own_calibration():
    """Without it they have the same."""
    crowded = calibration()

    assert crowded is calibration(crowded=crowded).closed
    assert crowded is crowded.closed
