"""A plan's configuration under its load, and the worlds that plans are made for."""

from __future__ import annotations

import dataclasses
import time
from _thread import interrupt_main
from contextlib import contextmanager

import numpy as np
import pytest
from cells import CONFIG, DOUBLE
from whole_text import whole

from blsnb.benchmark.level import Sample
from blsnb.benchmark.samples import NOTHING, row_of
from blsnb.errors import BlsnbError, TritonServerError
from blsnb.parts.requests import client_request
from blsnb.parts.server_parts import parts_of
from blsnb.planning.calibration import (
    HERE,
    TRITON,
    CalibratedModel,
    Calibration,
    Reproduction,
)
from blsnb.planning.options import options
from blsnb.planning.plans.check import Check, Checked
from blsnb.planning.plans.planned_world import OwnWorld
from blsnb.planning.plans.planner import planned

from ..configs import MS, config, waits

pytestmark = pytest.mark.usefixtures("few_requests")
X = {"X": np.ones(2, np.float32)}


def plan_of(*, world=TRITON, rates=(50.0,), cores=None, measured_rate=100.0):
    """Return the plan of a model that waits for 10 ms, as it is configured."""
    model = CalibratedModel(config("m"), {1: [waits(10)]})
    again = (Reproduction(1, 10_000, 9_600, measured_rate, measured_rate),)
    found = Calibration("m", world, {"m": model}, 2.0, again)
    return planned(found, options({"m": model.config}, {}, {}, {}), rates, 1e6, cores)


class Answering:
    """A client whose requests take 12 ms, on a clock of their own."""

    stream = False

    def send(self, level, number, began_ns=0):
        """Add the measurement of a request."""
        began_ns = began_ns or time.monotonic_ns()
        ended_ns = began_ns + 12 * MS
        level.add(number, Sample(began_ns, ended_ns, ended_ns))


class World:
    """Runs configurations, and remembers which."""

    name = TRITON

    def __init__(self, client=None):
        self.configs = []
        self.is_closed = False
        self._client = client or Answering()

    @contextmanager
    def sender(self, configs):
        """Return a client of a server with a configuration."""
        self.configs.append(configs)
        try:
            yield self._client
        finally:
            self.is_closed = True


def checked(plan, world=None, **options):
    """Check a plan beside a server whose requests take 12 ms."""
    world = world or World()
    check = dataclasses.replace(plan, _world=world).check(**options)
    return check, world


def test_a_check_has_measurements_beside_the_prediction():
    """Differences are shares of what was measured."""
    check, world = checked(plan_of(), duration_s=0.2, measurements=2)
    (rate,) = check.checked
    head, rows = check.table()

    assert 2 == len(rate.rows)
    assert [{}] == world.configs
    texts = ("rate", "", "predicted", "measured", "difference", "measurements")
    assert texts == head
    # On a busy machine even this client is late.
    assert ["50/s" if rate.is_held else "50/s (not held)", "p50"] == [*rows[0][:2]]
    assert "12 ms" == rows[0][3]
    assert "reproduces its own measurements within 4%" in str(check)


class Failing(Answering):
    """A client whose requests all fail."""

    def send(self, level, number, began_ns=0):
        """Add an error."""
        now_ns = time.monotonic_ns()
        level.add(number, Sample(began_ns or now_ns, now_ns, now_ns, 0, "no memory"))


def test_a_check_without_answers_says_so():
    """A median or a difference without any value is not a number."""
    check, _ = checked(plan_of(), World(Failing()), duration_s=0.1, measurements=2)
    _, rows = check.table()

    assert [("no answers", "no answers", "no answers, no answers")] * 2 == [
        row[3:] for row in rows
    ]
    assert "<Check of m: no answers at 1 rate>" == repr(check)
    assert "no memory" in str(check)
    assert "nan" not in str(check)


def test_a_measurement_without_answers_leaves_the_median_of_the_others():
    """The last load of one rate fails; its row says so."""
    plan = plan_of(rates=(40.0, 50.0))
    answering, _ = checked(plan, duration_s=0.1, measurements=1)
    failing, _ = checked(plan, World(Failing()), duration_s=0.1, measurements=1)
    [first, second] = answering.checked
    [empty, _] = failing.checked
    check = Check(plan, (first._replace(rows=(*empty.rows, *first.rows)), second))
    _, rows = check.table()

    assert ["12 ms", "12 ms"] == [rows[0][3], rows[2][3]]
    assert "12 ms, no answers" == rows[0][5]
    assert repr(answering) == repr(check)


def measured(ms: int, is_held: bool = True, error: str = ""):
    """Return a measurement of an open loop whose p99 is twice its p50."""
    found = [Sample(0, ms * MS, ms * MS, error=error)]
    rate = 1000 / ms
    row = row_of(1, found, NOTHING, stream=False)
    sent_rate = rate if is_held else 0.0
    return row._replace(rate=rate, sent_rate=sent_rate, p99_us=2 * row.p50_us)


def test_a_check_is_a_table_of_both():
    """A rate is held if most of its measurements are; the errors are counted."""
    first = Checked(50.0, 11_000.0, 20_000.0, tuple(map(measured, (12, 8, 10))))
    late = measured(10, is_held=False)
    failed = measured(10, error="no memory")
    half = Checked(1234.5, 9_000.0, 9_000.0, (late, measured(10)))
    most = Checked(60.0, 10_000.0, 10_000.0, (late, measured(10), measured(10)))
    none = Checked(70.0, 1.0, 1.0, (failed,))
    found = Check(plan_of(), (first, half, most, none), ("A remark.",))

    assert (
        "m, measured for a process for each instance; the calibration reproduces its "
        "own measurements within 4%"
    ) == found.caption
    assert [
        ("50/s", "p50", "11 ms ± 4%", "10 ms", "+10.0%", "8 ms, 10 ms, 12 ms"),
        ("50/s", "p99", "20 ms ± 4%", "20 ms", "+0.0%", "16 ms, 20 ms, 24 ms"),
        ("1234.5/s (not held)", "p50", "9 ms ± 4%", "10 ms", "-10.0%", "10 ms, 10 ms"),
        ("1234.5/s (not held)", "p99", "9 ms ± 4%", "20 ms", "-55.0%", "20 ms, 20 ms"),
    ] == found.table()[1][:4]
    assert ["60/s"] * 2 + ["70/s"] * 2 == [row[0] for row in found.table()[1][4:]]
    assert ["A remark.", "1 failed: no memory"] == str(found).splitlines()[-2:]
    assert "<Check of m: p50 within 10% at 3 rates, no answers at 1 rate>" == (
        repr(found)
    )


def test_a_check_measures_at_most_three_rates():
    """The lowest, the middle and the highest one."""
    rates = (10.0, 20.0, 30.0, 40.0, 50.0)
    for count, measured_rates in ((5, [10, 30, 50]), (2, [10, 20])):
        check, _ = checked(plan_of(rates=rates[:count]), duration_s=0.1, measurements=1)

        assert measured_rates == [each.rate for each in check.checked]


@pytest.mark.parametrize("request_number", [1, 60])
def test_ctrl_c_ends_a_check(request_number):
    """In the warm-up and in a measurement; no further one begins."""

    class Interrupting(Answering):
        def send(self, level, number, began_ns=0):
            super().send(level, number, began_ns)
            sent.append(number)
            if len(sent) == request_number:
                interrupt_main()

    sent = []
    world = World(Interrupting())
    plan = dataclasses.replace(plan_of(), _world=world)

    with pytest.raises(KeyboardInterrupt):
        plan.check(duration_s=60)
    assert world.is_closed


def test_a_second_ctrl_c_does_not_end_the_cleanup_of_a_check():
    """The server that was started for it is stopped to the end."""

    class Stopping(World):
        @contextmanager
        def sender(self, configs):
            with super().sender(configs) as sender:
                try:
                    yield sender
                finally:
                    interrupt_main()
                    stopped.append(configs)

    class Interrupting(Answering):
        def send(self, level, number, began_ns=0):
            super().send(level, number, began_ns)
            interrupt_main()

    stopped = []
    plan = dataclasses.replace(plan_of(), _world=Stopping(Interrupting()))

    with pytest.raises(KeyboardInterrupt):
        plan.check(duration_s=60)
    assert [plan.configs] == stopped


def test_a_plan_without_a_server_cannot_be_checked():
    """It was read from nowhere that could run it."""
    text = "this plan has no server; plan with Server.plan()"
    with pytest.raises(BlsnbError, match=whole(text)):
        plan_of().check()


@pytest.mark.parametrize("duration_s", [True, "1", 0, float("nan")])
def test_the_duration_of_a_check_is_refused_before_a_server_starts(duration_s):
    """A flag is no second."""
    with pytest.raises((TypeError, ValueError), match=r"^duration_s=.+ is not valid"):
        checked(plan_of(), World(None), duration_s=duration_s)


@pytest.mark.parametrize("count", [0, 101])
def test_a_check_has_a_number_of_measurements(count):
    """At least one."""
    with pytest.raises(ValueError, match=r"measurements=.* expected 1 to 100"):
        checked(plan_of(), measurements=count)


@pytest.mark.parametrize("count", [1.5, True, "3"])
def test_the_number_of_measurements_of_a_check_is_whole(count):
    """The text has the expected type, not a range that contains the number."""
    with pytest.raises(TypeError, match=r"expected a (whole )?number of 1 or more$"):
        checked(plan_of(), measurements=count)
    assert 1 == len(checked(plan_of(), duration_s=0.1, measurements=1.0)[1].configs)


def test_each_time_of_a_plan_has_the_error_of_its_calibration():
    """The simulation was 4 % faster than the measured loop."""
    plan = plan_of()
    _, [row] = plan.table()

    assert row[2].endswith(" ± 4%")
    assert row[3].endswith(" ± 4%")


def test_loads_and_processors_beyond_the_measured_ones_are_marked():
    """A plan names what it was calibrated with."""
    findings = "\n".join(plan_of(cores=16, measured_rate=20).findings)

    assert "Extrapolated: at most 20 requests/s were measured" in findings
    assert "Extrapolated: 16 processors; the calibration is for 2." in findings
    here = plan_of(world=HERE, cores=16)
    assert "for 2 that Python code of one kernel had." in "\n".join(here.findings)
    assert "Extrapolated" not in "\n".join(plan_of().findings)


def test_a_plan_here_is_checked_on_a_server_of_its_own(server):
    """The planned server keeps its configuration."""
    server.define("double", DOUBLE, config=CONFIG)
    before = server.config("double")
    plan = server.plan(
        "double",
        X,
        rate=20,
        p99_ms=1e4,
        instances={"double": [2]},
        requests=3,
        duration_s=0.1,
    )
    check = plan.check(duration_s=0.3, measurements=1)

    assert HERE == check.plan.calibration.world
    assert [0] == [row.failed for each in check.checked for row in each.rows]
    assert before == server.config("double")


def test_a_check_runs_the_configuration_of_its_plan(server):
    """Its server has it; a model that is no longer served is named."""
    server.define("double", DOUBLE, config=CONFIG)
    read = []

    @contextmanager
    def opened(repository):
        assert repository.parent.name.startswith("blsnb-check-")
        read.append((repository / "double" / "config.pbtxt").read_text())
        yield server

    request = client_request("double", X, {}, "plan")
    world = OwnWorld(parts_of(server), request, opened)

    with world.sender({"double": "changed"}) as sender:
        assert request == sender.request
    assert ["changed"] == read
    with (
        pytest.raises(BlsnbError, match="model 'other' is no longer served"),
        world.sender({"other": "changed"}),
    ):
        pass
    assert ["changed"] == read


def test_a_calibration_is_used_again(server):
    """Nothing is measured for the second plan."""
    server.define("double", DOUBLE, config=CONFIG)
    options = {"rate": 20, "p99_ms": 1e4, "requests": 3, "duration_s": 0.1}
    first = server.plan("double", X, **options)
    again = server.plan("double", X, calibration=first.calibration, **options)

    assert first.calibration is again.calibration


def test_a_calibration_of_another_world_is_refused(server):
    """The text names both."""
    server.define("double", DOUBLE, config=CONFIG)
    model = CalibratedModel(config("double"), {1: [waits(10)]})
    made = Calibration("double", HERE, {"double": model}, 2.0)

    with pytest.raises(
        ValueError, match=r"target='here' .* expected one for target='triton'"
    ):
        server.plan("double", X, rate=1, p99_ms=1, target=TRITON, calibration=made)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        # The worlds of a plan, and their texts, have tests of their own.
        (
            {"target": "there"},
            "target='there' is not valid; expected 'here' or 'triton'",
        ),
        (
            {"rate": None},
            "rate=None is not valid; expected a number of requests per second, or "
            "several",
        ),
        ({"rate": []}, "0 rates are not valid; expected 1 to 100"),
        ({"rate": [*range(1, 102)]}, "101 rates are not valid; expected 1 to 100"),
        (
            {"instances": 2},
            "instances=2 is not valid; expected numbers by model, such as "
            "{'a': [1, 2]}",
        ),
        (
            {"instances": {"m": 2}},
            "instances['m']=2 is not valid; expected a list of numbers, such as [1, 2]",
        ),
        (
            {"instances": {"m": []}},
            "instances['m']=[] is not valid; expected one or more whole numbers of at "
            "least 1",
        ),
        (
            {"delay_us": {"m": [-1]}},
            "delay_us['m']=[-1] is not valid; expected one or more whole numbers of at "
            "least 0",
        ),
        (
            {"batch": {"m": [True]}},
            "batch['m']=[True] is not valid; expected one or more whole numbers of at "
            "least 1",
        ),
        (
            {"calibration": 5},
            "calibration=5 is not valid; expected the calibration of a plan, "
            "plan.calibration",
        ),
    ],
)
def test_arguments_of_a_plan_are_checked(server, options, text):
    """Before anything is measured."""
    server.define("double", DOUBLE, config=CONFIG)

    with pytest.raises((ValueError, TypeError), match=whole(text)):
        server.plan("double", X, **{"rate": 1, "p99_ms": 1, **options})


CALLER = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        inputs = [pb_utils.get_input_tensor_by_name(request, "X")]
        response = pb_utils.InferenceRequest(
            model_name="double", requested_output_names=["Y"], inputs=inputs
        ).exec()
        return pb_utils.InferenceResponse(response.output_tensors())
"""


ALONE = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(r, "X") for r in requests]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("Y", x.as_numpy() * 2)])
            for x in inputs
        ]
"""


@pytest.mark.slow
@pytest.mark.triton_server
@pytest.mark.timeout(300)
def test_a_called_model_that_does_not_load_there_is_named(server):
    """The packages of this process are not those of the real server."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("caller", CALLER, config=CONFIG)

    with pytest.raises(TritonServerError, match="model 'double' does not load"):
        server.plan("caller", X, rate=10, p99_ms=1e4, target=TRITON)


@pytest.mark.slow
@pytest.mark.triton_server
@pytest.mark.timeout(300)
def test_a_plan_for_a_real_server_is_observed_and_checked_there(server):
    """Its BLS calls are known with their times, and the load is held."""
    server.define("double", ALONE, config=CONFIG)
    server.define("caller", CALLER, config=CONFIG)
    plan = server.plan(
        "caller", X, rate=10, p99_ms=1e4, target=TRITON, requests=10, duration_s=1
    )
    steps = plan.calibration.models["caller"].by_size[1][0].steps
    check = plan.check(duration_s=1, measurements=1)

    assert TRITON == plan.calibration.world
    assert ["double", ""] == [step.model for step in steps]
    assert [0] == [row.failed for each in check.checked for row in each.rows]
