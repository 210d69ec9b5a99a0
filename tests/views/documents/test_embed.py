"""Specification of what a document keeps of the tensors."""

import json

import numpy as np
from asserting import every

from blsnb.trace.excerpt import by_importance
from blsnb.views.columns import columns_of
from blsnb.views.documents import embed
from blsnb.views.documents.buffer import Buffer

from ..samples import Script, invoice_run, noise, strings, tensor


def embedded(trace, previews=True):
    buffer = Buffer()
    order = by_importance(trace)
    return embed.embed(trace, order, buffer, previews), bytes(buffer)


def large_run(count=40, rows=300):
    script = Script()
    script.model("m")
    for k in range(count):
        call = script.call(None, "m", k, 0, 0, 1, 0)
        call.inputs = (tensor("X", "FP32", noise((rows, 300), k)),)
    return script.trace()


def test_failed_calls_come_first_then_the_selected_one():
    """They are the most important calls."""
    trace = invoice_run()
    order = by_importance(trace, selected=20)

    assert [13, 24, 25, 20, 0] == order[:5]
    assert list(range(27)) == sorted(order)


def test_the_slowest_call_of_a_model_comes_before_its_others():
    """A reader wants to know why it was slow."""
    trace = invoice_run()
    columns = columns_of(trace)
    order = by_importance(trace)
    crops = [span.index for span in trace.spans if span.model == 3 and not span.error]
    slowest = max(crops, key=lambda row: columns.duration_us[row])

    assert slowest == min(crops, key=order.index)


def test_the_budget_is_kept():
    """A document of large tensors stays small."""
    found, buffer = embedded(large_run())

    assert len(buffer) + len(json.dumps(found)) <= embed.BUDGET * 1.05
    assert 40 == len(found)


def test_when_the_budget_is_spent_statistics_remain():
    """Previews are left out before statistics, lowest priority first."""
    found, _ = embedded(large_run())
    has_preview = [entries[0]["preview"] is not None for entries in found.values()]

    assert sorted(has_preview, reverse=True) == has_preview
    assert {True, False} == set(has_preview)
    assert every(entries[0]["stats"] for entries in found.values())


def test_tensors_of_few_values_are_embedded_beside_large_ones():
    """The scores of an image are smaller than the image."""
    script = Script()
    script.model("m")
    for k, side in enumerate([300] * 20 + [40] * 20 + [10] * 30):
        call = script.call(None, "m", k, 0, 0, 1, 0)
        call.inputs = (tensor("X", "FP32", noise((side, side), k)),)
    call.outputs = (tensor("SCORES", "FP32", np.arange(40) / 8),)
    found, buffer = embedded(script.trace())
    large, scores = found["69"]

    assert large["preview"] is None
    assert "4.875" == scores["preview"]["values"][-1]
    assert len(buffer) + len(json.dumps(found)) <= embed.BUDGET * 1.05


def test_few_values_of_many_calls_leave_room_for_pictures():
    """They have a share of the budget."""
    script = Script()
    script.model("m")
    for k in range(600):
        call = script.call(None, "m", k, 0, 0, 1, 0)
        call.inputs = (tensor("X", "FP64", noise((8, 6), k)),)
    script.calls[0].inputs = (tensor("PAGE", "FP32", noise((300, 300))),)
    found, _ = embedded(script.trace())

    assert found["0"][0]["preview"] is not None


def test_without_previews_no_value_is_saved():
    """Only statistics are saved."""
    found, buffer = embedded(invoice_run(), previews=False)
    text = json.dumps(found)

    assert b"" == buffer
    assert "token" not in text.replace('"tokens"', "")
    assert {None} == {e["preview"] for entries in found.values() for e in entries}


def test_a_value_that_is_passed_on_is_embedded_once():
    """The output of one call and the input of the next share their preview."""
    found, _ = embedded(invoice_run())
    pixels = [
        entry["preview"]["data"]
        for entries in found.values()
        for entry in entries
        if entry["name"] == "PIXELS"
    ]

    assert 3 == len(pixels)
    assert pixels[0] == pixels[1] == pixels[2]


def test_a_call_without_tensors_has_an_empty_list():
    """The page does not take it for one that is not embedded."""
    found, _ = embedded(invoice_run())

    assert [] == found["24"]


def test_a_preview_has_the_offset_and_size_of_its_entry():
    """They are those of the bytes of the slice."""
    found, buffer = embedded(invoice_run())
    boxes = next(e for e in found["2"] if e["name"] == "BOXES")["preview"]
    offset, count = boxes["data"]
    levels = np.frombuffer(buffer, np.uint8, count, offset)

    assert (boxes["rows"] * boxes["columns"], 0) == (count, offset % 8)
    assert (0, 254) == (levels.min(), levels.max())


def test_a_preview_without_a_finite_value_has_no_bounds():
    """JSON has neither NaN nor infinities."""
    script = Script()
    script.model("m")
    script.call(None, "m", 0, 0, 0, 1, 0).inputs = (
        tensor("X", "FP32", np.full((2, 3), np.inf)),
    )
    found, _ = embedded(script.trace())

    shown = found["0"][0]["preview"]
    assert (None, None) == (shown["low"], shown["high"])


def test_an_image_is_embedded_with_its_heatmap():
    """The reader can switch between both without a kernel."""
    found, _ = embedded(invoice_run())
    image = next(e for e in found["0"] if e["name"] == "IMAGE")

    assert ("image", "grid") == (image["preview"]["kind"], image["grid"]["kind"])


def test_strings_count_against_the_budget():
    """Long prompts are as large as other previews."""
    script = Script()
    script.model("m")
    for k in range(200):
        call = script.call(None, "m", k, 0, 0, 1, 0)
        call.inputs = (strings("PROMPT", f"{k}" + "x" * 4000),)
    found, buffer = embedded(script.trace())

    assert len(buffer) + len(json.dumps(found)) <= embed.BUDGET * 1.05


def test_bounds_of_booleans_are_numbers():
    """JSON of the page has numbers only."""
    script = Script()
    script.model("m")
    call = script.call(None, "m", 0, 0, 0, 1, 0)
    call.inputs = (tensor("X", "BOOL", [True, False]),)
    rows, _ = embedded(script.trace())

    [entry] = rows["0"]
    bounds = [entry["stats"]["min"], entry["stats"]["max"], entry["histogram"]["high"]]
    assert "[0, 1, 1]" == json.dumps(bounds)
