"""Specification of infer(profile=True): samples of the models' own code."""

import json
import math
import sys

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, calling, cell

import blsnb
from blsnb import InferenceError

# Work is counted in steps, not in time: samples of both functions are of one rate.
SPINS = cell(
    """
    self.more(7)
    self.less(3)
    return [reply(x_of(request))]
    """,
    methods="""
    def more(self, tenths):
        spin(tenths)

    def less(self, tenths):
        spin(tenths)
    """,
).replace(
    "class TritonPythonModel",
    "def spin(tenths):\n    for _ in range(tenths * 1_000_000):\n        pass\n\n\n"
    "class TritonPythonModel",
)
ONE = {"X": np.float32([1])}


def samples_of(run, function):
    """Return the number of samples with a function on their stack."""
    return sum(
        sampled.samples
        for sampled in run.profile.samples.samples
        if function in [frame.function.rpartition(".")[2] for frame in sampled.stack]
    )


def test_a_known_split_appears(server):
    """Two functions share the samples by their work."""
    server.define("spins", SPINS, config=CONFIG)

    run = server.infer("spins", ONE, profile=True)

    total = run.profile.samples.count
    assert total > 10
    # Within 5 points, and three deviations of a share of so few samples.
    near = 0.05 + 3 * math.sqrt(0.21 / total)
    assert samples_of(run, "more") / total == pytest.approx(0.7, abs=near)
    assert samples_of(run, "less") / total == pytest.approx(0.3, abs=near)


def test_samples_belong_to_the_innermost_call(server):
    """A parent that waits for its BLS call has none of the child's samples."""
    server.define("spins", SPINS, config=CONFIG)
    server.define("parent", calling("spins"), config=CONFIG)

    run = server.infer("parent", ONE, profile=True)

    by_model = run.profile.models()
    counts = run.profile.samples.calls()
    child = sum(counts.get(call, 0) for call in by_model["spins"])
    assert child > 10
    assert sum(counts.values()) - child < 3 + child * 0.1
    assert {"spins"} == {row.model for row in run.profile.lines()[:1]}


def test_an_asynchronous_child_is_sampled_on_its_thread(server):
    """Waiting for it is no work of the parent."""
    gathers = cell(
        """
        results = await asyncio.gather(*[
            ask("spins", request).async_exec() for _ in range(2)])
        return [reply(answer_of(results[0]))]
        """,
        asynchronous=True,
    )
    server.define("spins", SPINS, config=CONFIG)
    server.define("gathers", gathers, config=CONFIG)

    run = server.infer("gathers", ONE, profile=True)

    counts = run.profile.samples.calls()
    calls = run.profile.models()["spins"]
    assert [True, True] == [counts.get(call, 0) > 3 for call in calls]


def test_other_requests_are_not_in_the_profile(server):
    """Only the run that was requested with it has a profile."""
    server.define("double", DOUBLE, config=CONFIG)

    assert server.infer("double", ONE).profile is None


def test_a_failed_request_has_its_profile(server):
    """The switch interval of Python is restored."""
    fails = SPINS.replace("return [reply(x_of(request))]", "raise ValueError('no')")
    server.define("fails", fails, config=CONFIG)
    before = sys.getswitchinterval()

    with pytest.raises(InferenceError) as caught:
        server.infer("fails", ONE, profile=True)

    assert caught.value.run.profile.samples.count > 10
    assert before == sys.getswitchinterval()


def test_a_profile_is_saved_with_its_run(server, tmp_path):
    """A file that is read again has the same lines; speedscope gets a file."""
    server.define("spins", SPINS, config=CONFIG)
    run = server.infer("spins", ONE, profile=True)

    loaded = blsnb.load_run(run.save(tmp_path / "run.blsrun"))
    written = json.loads(run.profile.save(tmp_path / "run.json").read_text())

    assert run.profile.lines() == loaded.profile.lines()
    assert ["spins"] == [each["name"] for each in written["profiles"]]
    hottest = run.profile.lines()[0]
    assert hottest.text.strip() in ("pass", "for _ in range(tenths * 1_000_000):")
    assert hottest.text.strip() in str(run.profile)
