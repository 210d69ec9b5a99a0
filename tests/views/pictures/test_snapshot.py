"""Specification of the picture of a run."""

import re
from xml.etree import ElementTree

import pytest
from reviewed import reviewed

from blsnb.printable import counted
from blsnb.trace.events import CallFlag
from blsnb.trace.excerpt import shortened
from blsnb.trace.lazy.call_fields import NAMES
from blsnb.trace.spans import Trace
from blsnb.views.pictures.snapshot import snapshot
from blsnb.views.pictures.svg import COLOURS

from .. import golden_run
from ..samples import (
    Script,
    batch_run,
    ensemble_run,
    fail,
    hostile_run,
    instant_run,
    invoice_run,
    running_run,
)

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture):
    return [
        "".join(element.itertext())
        for element in ElementTree.fromstring(picture).iter(f"{SVG}text")
    ]


def test_the_picture_of_the_sample_is_the_golden_one():
    """A change of the picture is reviewed before it is accepted."""
    assert golden_run.PICTURE.read_text("utf-8") == snapshot(invoice_run())


def test_the_picture_of_a_cycle_is_the_golden_one():
    """It has edges that point up, a failed call, and more rows than are drawn."""
    drawn = snapshot(golden_run.cycle_run())

    assert golden_run.CYCLE_PICTURE.read_text("utf-8") == drawn


def failing_run():
    """Return a run with a strip of calls in several lanes, some of which fail."""
    script = Script()
    for name in ("outer", "inner", "once"):
        script.model(name)
    outer = script.call(None, "outer", 0, 10, 0, 980, 0)
    for number in range(120):
        call = script.call(outer, "inner", 20 + 7 * number, 5, 0, number, 0)
        if number % 7 in (0, 1):
            fail(call, "no")
    fail(script.call(outer, "once", 980, 0, 0, 6, 0), "no")
    return script.trace()


def counted_run():
    """Return the same run, of which most calls are only counted."""
    return shortened(failing_run(), 16)


def looping_run():
    """Return a run whose edges are loops, point up, stream and skip ranks, each twice.

    Their labels are beside them.
    """
    script = Script()
    for name in ("outer", "middle", "leaf"):
        script.model(name)
    outer = script.call(None, "outer", 0, 0, 0, 200, 0)
    for number in range(2):
        at = 100 * number
        middle = script.call(outer, "middle", at, 0, 0, 90, 0)
        script.call(middle, "middle", at + 10, 0, 0, 20, 0)
        leaf = script.call(middle, "leaf", at + 40, 0, 0, 10, 0, CallFlag.DECOUPLED)
        script.call(leaf, "outer", at + 42, 0, 0, 2, 0, CallFlag.ASYNC)
        script.call(outer, "leaf", at + 92, 0, 0, 3, 0)
    return script.trace()


@pytest.mark.parametrize(
    ("trace", "state"),
    [
        (running_run, None),
        (looping_run, None),
        (failing_run, None),
        (counted_run, "cancelled"),
        (ensemble_run, None),
        (instant_run, None),
        (hostile_run, "running"),
        (lambda: Trace("0", "", "", (), (), 0), None),
    ],
    ids=[
        "running",
        "looping",
        "failing",
        "counted",
        "ensemble",
        "instant",
        "hostile",
        "empty",
    ],
)
def test_the_picture_of_each_kind_of_run_is_the_reviewed_one(request, trace, state):
    """``BLSNB_WRITE_GOLDEN=1`` writes the files anew."""
    name = request.node.callspec.id
    drawn = snapshot(trace(), state)

    assert reviewed(golden_run.FOLDER / "kinds" / f"{name}.svg", drawn) == drawn


def test_the_title_of_the_picture_describes_the_run():
    """It has name, request, wall time, calls, models and errors."""
    title = texts(snapshot(invoice_run()))[0]

    assert (
        "invoice_pipeline · request 7f3a76.2 ms wall27 calls9 models3 errors" == title
    )


def test_one_error_in_the_title_is_red_as_several_are():
    """Its other facts are not."""
    for count in (1, 2):
        script = Script()
        script.model("model")
        for number in range(3):
            flags = CallFlag.ERROR if number < count else 0
            script.call(None, "model", 10 * number, 0, 0, 5, 0, flags)
        drawn = ElementTree.fromstring(snapshot(script.trace()))
        fills = {each.text: each.get("fill") for each in drawn.iter(f"{SVG}tspan")}

        assert COLOURS["error"] == fills[counted(count, "error")]
        assert COLOURS["fg2"] == fills["3 calls"]


@pytest.mark.parametrize(
    ("trace", "state", "colour"),
    [
        (instant_run(), None, "output"),
        (invoice_run(), None, "error"),
        (running_run(), None, "running"),
        (invoice_run(), "running", "running"),
        (instant_run(), "cancelled", "fg3"),
        (invoice_run(), "cancelled", "fg3"),
    ],
)
def test_a_dot_has_the_colour_of_the_state(trace, state, colour):
    """A failed call colours it once the run has ended."""
    drawn = ElementTree.fromstring(snapshot(trace, state))
    dot = next(drawn.iter(f"{SVG}circle"))

    assert COLOURS[colour] == dot.get("fill")


def test_every_model_is_a_box_and_every_row_is_named():
    """Graph and timeline have the texts of the sample."""
    found = texts(snapshot(invoice_run()))

    assert 2 == found.count("decode_image")
    assert "crop_recognizer \N{MULTIPLICATION SIGN}121 error" in found
    assert "llm_extract46 responses" in found
    assert "46 resp" in found


def test_the_times_above_the_calls_are_at_most_six():
    """More would run into one another; none is beyond the end."""
    script = Script()
    script.model("model")
    script.call(None, "model", 0, 0, 0, 6495, 0)
    found = texts(snapshot(script.trace()))

    assert ["0", "2 ms", "4 ms", "6 ms"] == found[found.index("0") : -2]


def test_a_call_of_zero_time_is_drawn_without_a_bar():
    """Box and row show 0 µs."""
    picture = snapshot(instant_run())
    fills = [
        each.get("fill") for each in ElementTree.fromstring(picture).iter(f"{SVG}rect")
    ]

    assert 1 == fills.count(COLOURS["infer"])  # in the legend
    assert ["0 µs", "instant", "0 µs"] == [
        text for text in texts(picture) if text in ("instant", "0 µs")
    ][1:]


def test_hostile_names_stay_text():
    """Markup in names, ids and texts brings no element into the picture."""
    root = ElementTree.fromstring(snapshot(hostile_run()))
    drawn = {element.tag.removeprefix(SVG) for element in root.iter()}

    assert drawn <= {
        *("svg", "defs", "marker", "g", "path", "rect", "circle", "text", "tspan"),
    }


def test_a_picture_has_no_external_references():
    """Its only address is the namespace: it needs no network."""
    picture = snapshot(hostile_run())

    assert 1 == picture.count("http")
    assert "href" not in picture


def test_ten_thousand_calls_make_a_small_picture():
    """At most 100 kB, whatever the number of calls."""
    assert len(snapshot(batch_run()).encode()) <= 100_000


def test_a_picture_has_at_most_32_rows_and_counts_the_rest():
    """The number of other rows is below them."""
    script = Script()
    for k in range(50):
        script.model(f"m{k}")
        script.call(None, f"m{k}", k, 0, 0, 1, 0)

    assert "… 18 more rows" == texts(snapshot(script.trace()))[-1]


def test_the_picture_of_a_running_run_is_marked_as_running():
    """A reader does not take it for the whole run."""
    assert "running" in texts(snapshot(running_run()))[0]


def test_a_run_without_calls_has_a_picture():
    """A request that was rejected at once can be displayed."""
    empty = Trace("0", "", "", (), (), 0)

    assert "no calls" in texts(snapshot(empty))[0]


def test_models_that_call_each_other_are_drawn():
    """A cycle has an edge that points up, and each model has one box."""
    script = Script()
    script.model("a")
    script.model("b")
    outer = script.call(None, "a", 0, 0, 0, 100, 0)
    middle = script.call(outer, "b", 5, 0, 0, 50, 0)
    script.call(middle, "a", 6, 0, 0, 5, 0)
    root = ElementTree.fromstring(snapshot(script.trace()))
    arrows = [e for e in root.iter(f"{SVG}path") if e.get("marker-end")]

    assert 2 == len(arrows)
    assert 2 == len(root.findall(f".//{SVG}rect[@rx='6']"))


def test_calls_that_took_no_time_have_a_picture():
    """A coarse clock does not cause a division by zero."""
    script = Script()
    script.model("m")
    call = script.call(None, "m", 0, 0, 0, 0, 0)
    call.request_end_ns = call.request_start_ns
    call.queue_start_ns = call.compute_start_ns = call.compute_input_end_ns = 0
    call.compute_output_start_ns = call.compute_end_ns = 0

    assert "0 µs" in texts(snapshot(script.trace()))


def test_a_model_that_calls_itself_is_drawn_as_a_loop():
    """The loop has the number of calls."""
    script = Script()
    script.model("m")
    outer = script.call(None, "m", 0, 0, 0, 100, 0)
    inner = script.call(outer, "m", 5, 0, 0, 50, 0)
    script.call(inner, "m", 6, 0, 0, 5, 0)

    assert "\N{MULTIPLICATION SIGN}2" in texts(snapshot(script.trace()))


def test_a_call_of_no_time_has_a_box_and_a_bar():
    """A clock may not tick while a model runs."""
    script = Script()
    script.model("outer")
    script.model("instant")
    outer = script.call(None, "outer", 0, 0, 0, 100, 0)
    instant = script.call(outer, "instant", 10, 0, 0, 0, 0)
    for name in TIMES_OF_A_CALL:
        setattr(instant, name, instant.request_start_ns)
    picture = snapshot(script.trace())

    assert "instant" in texts(picture)
    assert [] == broken_numbers(picture)


def test_a_run_of_no_time_has_a_picture():
    """The time axis has a length nevertheless."""
    script = Script()
    script.model("instant")
    call = script.call(None, "instant", 0, 0, 0, 0, 0)
    for name in TIMES_OF_A_CALL:
        setattr(call, name, call.request_start_ns)
    picture = snapshot(script.trace())

    assert "instant" in texts(picture)[0]
    assert [] == broken_numbers(picture)


TIMES_OF_A_CALL = [name for name in NAMES if name.endswith("_ns")]


def broken_numbers(picture):
    """Attributes of a picture that have no number, or a negative size."""
    return [
        (element.tag.removeprefix(SVG), name, value)
        for element in ElementTree.fromstring(picture).iter()
        for name, value in element.attrib.items()
        if {"nan", "inf"} & set(re.findall("[a-z]+", value.lower()))
        or (name in ("width", "height", "r") and float(value) < 0)
    ]
