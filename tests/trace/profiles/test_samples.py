"""Specification of profiles as values: merged, stored, exported."""

import dataclasses
import json
import math

import pytest
from views.samples import invoice_run

from blsnb.errors import TraceError
from blsnb.trace.facts import Profile
from blsnb.trace.profiles.run_profile import RunProfile, speedscope
from blsnb.trace.profiles.samples import (
    Sampled,
    SampleProfile,
    StackFrame,
    own_line,
    part_of_profile,
    read_samples,
)

EXECUTE = StackFrame("TritonPythonModel.execute", "model.py", 7, True)
HELPER = StackFrame("helper", "model.py", 2, True)
LIBRARY = StackFrame("dumps", "json.py", 9)
SAMPLES = [
    Sampled(1, "top", (EXECUTE,), 2),
    Sampled(1, "top", (EXECUTE, HELPER), 3),
    Sampled(2, "leaf", (EXECUTE, HELPER, LIBRARY), 5),
]
PROFILE = SampleProfile(SAMPLES, 1_100_000, 1_000_000)


def test_samples_are_merged_by_call_and_by_model():
    """A model has the stacks of all its calls."""
    leaf = {(EXECUTE, HELPER, LIBRARY): 5}

    assert {1: 5, 2: 5} == PROFILE.calls()
    assert {"top": {(EXECUTE,): 2, (EXECUTE, HELPER): 3}, "leaf": leaf} == (
        PROFILE.models()
    )
    part = read_samples(part_of_profile(PROFILE.stored(), [2]))
    assert leaf == part.models()["leaf"]
    assert 5 == part.count


def test_a_profile_is_a_line_with_its_count_and_interval():
    """That of a run has the samples of all its models."""
    expected = "<SampleProfile: 10 samples, one every 1.10 ms>"

    assert expected == repr(PROFILE)


def test_a_profile_of_a_run_lists_its_lines():
    """Those with most samples come first, with their share and their time."""
    found = RunProfile(invoice_run(), PROFILE)

    assert repr(PROFILE).replace("Sample", "Run") == repr(found)
    assert [
        "10 samples, one every 1.10 ms",
        " 50.0%       5.5 ms  leaf  model.py:2",
        " 30.0%       3.3 ms  top  model.py:2",
        " 20.0%       2.2 ms  top  model.py:7",
    ] == str(found).splitlines()


def test_a_form_feed_in_a_source_ends_no_line():
    """Lines are those of Python."""
    trace = invoice_run()
    top = trace.models[0]._replace(name="top", source="\f\nimport numpy\n")
    trace = dataclasses.replace(trace, models=(top,))

    found = {row.text for row in RunProfile(trace, PROFILE).lines()}
    assert {"import numpy", ""} == found


def test_an_interval_that_was_not_reached_is_named():
    """Other threads of the process may have kept the interpreter."""
    slow = SampleProfile(SAMPLES, 1_260_000, 1_000_000)
    found = RunProfile(invoice_run(), slow)

    first = str(found).splitlines()[0]
    assert "10 samples, one every 1.26 ms (1.00 ms was not reached)" == first


def test_the_time_in_libraries_belongs_to_the_line_that_called_them():
    """The innermost line of the model's folder is the one to look at."""
    inner = StackFrame("inner", "helper.py", 1, True)

    assert HELPER == own_line((EXECUTE, HELPER, LIBRARY))
    assert inner == own_line((EXECUTE, LIBRARY, inner, LIBRARY))
    assert LIBRARY == own_line((LIBRARY,))


def test_a_stored_profile_is_read_back():
    """The file has each frame and each beginning of a stack once."""
    stored = PROFILE.stored()

    data = json.loads(json.dumps(stored.data))
    again = read_samples(Profile(stored.kind, None, data, b""))

    assert PROFILE.samples == again.samples
    assert (1_100_000, 1_000_000) == (again.interval_ns, again.wanted_ns)
    assert [3, 3] == [len(data["frames"]), len(data["stacks"])]


NO_STACK = "ValueError('a stack has no such parent or frame')"
NO_SAMPLE = "ValueError('a sample has no such stack or model')"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"frames": [["f", "model.py"]]}, "ValueError("),
        ({"models": []}, NO_SAMPLE),
        ({"models": 3}, "TypeError("),
        ({"stacks": [[5, 0]]}, NO_STACK),
        ({"stacks": [[-1, 9]]}, NO_STACK),
        ({"stacks": [[-2, 0]]}, NO_STACK),
        ({"samples": [[1, 0, 7, 1]]}, NO_SAMPLE),
        ({"samples": [[1, 0, -1, 1]]}, NO_SAMPLE),
        ({"samples": [[1, 2, 0, 1]]}, NO_SAMPLE),
        ({"samples": [[1, -1, 0, 1]]}, NO_SAMPLE),
        (
            {"samples": [[1, 0, 0, 0]]},
            "ValueError('a stack was sampled less than once')",
        ),
        ({"interval_ns": None}, "TypeError("),
        ({"interval_ns": math.inf}, "OverflowError("),
        (
            {"frames": [["f", "model.py", 2**31, True]]},
            "ValueError('a line is out of range')",
        ),
        ({"samples": [[1, 0, 0, 2**31]]}, "ValueError('there are too many samples')"),
        (
            {"samples": [[1, 0, 0, 2**30], [1, 0, 0, 2**30]]},
            "ValueError('there are too many samples')",
        ),
        (
            {"stacks": [[n - 1, 0] for n in range(4_000)]},
            "ValueError('its stacks have more than 5,000,000 lines')",
        ),
        ({"samples": 3}, "TypeError("),
    ],
)
def test_a_damaged_profile_is_refused(change, reason):
    """A forged file causes an error of blsnb, and no other."""
    stored = PROFILE.stored()

    with pytest.raises(TraceError) as refused:
        read_samples(stored._replace(data={**stored.data, **change}))
    told = f"the profile of the run is damaged: {reason}"
    assert str(refused.value).startswith(told)
    assert reason.endswith("(") or str(refused.value) == told


def test_speedscope_has_a_profile_for_each_model():
    """Weights are milliseconds."""
    written = speedscope(PROFILE)

    assert ["top", "leaf"] == [each["name"] for each in written["profiles"]]
    top = written["profiles"][0]
    names = [frame["name"] for frame in written["shared"]["frames"]]
    stacks = [[names[frame] for frame in stack] for stack in top["samples"]]
    assert [[EXECUTE.function], [EXECUTE.function, "helper"]] == stacks
    assert [2.2, 3.3] == pytest.approx(top["weights"])
    assert top["endValue"] == pytest.approx(5.5)


def test_the_text_of_a_profile_has_the_twenty_lines_with_most_samples():
    """A line of a file without a source is named by its number."""
    rows = [
        Sampled(0, "m", (StackFrame("f", "f.py", number, True),), number)
        for number in range(1, 22)
    ]
    shown = str(RunProfile(invoice_run(), SampleProfile(rows, 1_000_000, 1_000_000)))

    assert [f"m  f.py:{number}" for number in range(21, 1, -1)] == [
        line.partition(" ms  ")[2] for line in shown.splitlines()[1:]
    ]
