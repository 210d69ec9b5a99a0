"""A comparison in words and rows."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from xml.etree import ElementTree

import pytest
from asserting import every, some

from blsnb.trace import excerpt as shortening
from blsnb.trace.alignment import COUNTED
from blsnb.trace.comparison import UNRECORDED, compare
from blsnb.trace.dropped import PIN
from blsnb.trace.excerpt import page_excerpt, part_of, shortened
from blsnb.trace.spans import Trace
from blsnb.views.delta import MINUS, Delta
from blsnb.views.documents import document, wire
from blsnb.views.format import TIMES, width
from blsnb.views.pictures.snapshot import WIDTH, snapshot
from blsnb.views.rows import rows
from blsnb.views.summary import own_times
from blsnb.views.tree import tree
from views.encoded import decode

from . import golden_run
from .samples import (
    Script,
    batch_run,
    edited_run,
    ensemble_run,
    hostile_run,
    invoice_run,
    tensor,
)

EDITED = compare(edited_run(), invoice_run())


def shown(comparison, **how) -> list[str]:
    return [_row(comparison, each) for each in rows(comparison, **how)]


def _row(comparison, each) -> str:
    trace = comparison.baseline if each.missing else comparison.this
    sign = "-" if each.missing else "" if each.baseline else "+"
    return f"{sign}{trace.models[each.model].name}{len(each.calls)}"


@pytest.mark.parametrize(
    ("now", "before", "words"),
    [
        (1050, 1000, "≈"),
        (950, 1000, "≈"),
        (1060, 1000, "▲ +60 µs"),
        (900, 1000, f"▼ {MINUS}100 µs"),
        (0, 0, "≈"),
        (40, 20, "≈"),
        (41, 20, "▲ +21 µs"),
        (0, 21, f"▼ {MINUS}21 µs"),
    ],
)
def test_durations_within_five_per_cent_or_twenty_microseconds_are_equal(
    now, before, words
):
    """What runs twice never takes the same time twice."""
    assert words == Delta(now, before).words


def test_rows_are_those_of_the_run_with_missing_ones_between():
    """Missing rows are where they once started, folded like others."""
    assert [
        "invoice_pipeline1",
        "decode_image1",
        "text_detector1",
        "layout_model1",
        "crop_recognizer12",
        "rerank1",
        "embedder6",
        "llm_extract1",
        "schema_check1",
        "schema_check1",
        "-schema_check1",
        "+audit1",
    ] == shown(EDITED)


def test_equal_runs_have_the_rows_of_either():
    """Loops are folded in the same way."""
    run = batch_run(300)
    found = list(rows(compare(run, run)))

    assert [dataclasses.replace(each, baseline=()) for each in found] == list(rows(run))
    assert every(each.baseline == each.calls for each in found)


def test_a_missing_call_shows_what_it_called():
    """Its callees are missing rows below it."""
    run = invoice_run()
    without = part_of(run, 1)
    found = shown(compare(without, run))

    assert ["+decode_image1", "-invoice_pipeline1", "-decode_image1"] == found[:3]
    assert ["-rerank1", "-embedder6"] == found[6:8]


def test_own_times_are_compared_model_by_model():
    """A new model has no earlier own time."""
    names = [model.name for model in edited_run().models]
    signs = {
        names[model]: delta and delta.sign for model, delta in own_times(EDITED).items()
    }

    assert "▼" == signs["text_detector"]
    assert "▲" == signs["llm_extract"]
    assert "≈" == signs["embedder"]
    assert signs["audit"] is None


def test_the_text_has_both_times_and_all_differences():
    """New, changed and missing calls are named."""
    head, *lines = tree(EDITED).splitlines()

    assert head.endswith(
        "vs 76.2 ms baseline, 3 changed, 1 new, 1 missing, 2 not compared"
    )
    assert f"    text_detector  7.26 ms  ▼ {MINUS}4.12 ms" in lines
    score = "output SCORE_MAP: 1 of 76,800 differ; most by 0.25 at [0, 1, 45, 60]"
    assert any(score in line for line in lines)
    assert "    ~ output SURE: new: BOOL[1]" in lines
    assert any("error: none; before: ValueError" in line for line in lines)
    assert "    schema_check  975 µs  missing" in lines
    assert "    audit  505 µs  new" in lines
    assert f"    schema_check {TIMES}2  1.68 ms  ≈" in lines


def test_the_text_of_equal_runs_names_no_difference():
    """There is no line below a row."""
    text = tree(compare(ensemble_run(), ensemble_run()))

    assert "no change known, 3 not compared" in text.splitlines()[0]
    given = (tensor("X", "FP32", [1.0]),)
    spans = [dataclasses.replace(each, inputs=given) for each in ensemble_run().spans]
    known = dataclasses.replace(ensemble_run(), spans=tuple(spans))
    text = tree(compare(known, known))
    assert text.splitlines()[0].endswith("no call changed")
    assert "~" not in text


def folded_before() -> tuple[Trace, Trace]:
    """A run of 300 calls, and what is left of it where few are kept."""
    return batch_run(300), shortened(batch_run(300), 40)


def test_calls_that_the_baseline_only_counts_are_not_new():
    """Their times are not compared with those of calls that are kept."""
    whole, folded = folded_before()
    lines = tree(compare(whole, folded)).splitlines()
    back = tree(compare(folded, whole))

    assert "new" not in lines[0]
    assert "missing" not in lines[0]
    assert any("of these calls are only counted in the baseline" in x for x in lines)
    [routers] = [line for line in lines if line.strip().startswith("router")]
    assert routers.rstrip().endswith("ms")
    assert "missing" not in back
    assert "new" not in back
    [routers] = [line for line in back.splitlines() if line.startswith("    router")]
    assert f"router {TIMES}16  " in routers
    assert routers.endswith(" kept")
    for name, own in some(own_times(compare(whole, folded)).items()):
        assert own is not None, whole.models[name]


def test_a_page_receives_which_calls_the_baseline_only_counts():
    """No call of a folded run is missing."""
    whole, folded = folded_before()
    header, buffer = wire.assemble(compare(whole, folded))
    back, _ = wire.assemble(compare(folded, whole))

    assert COUNTED in decode(header, bytes(buffer))["baseline"].tolist()
    assert 0 == header["columns"]["missing"][2] == back["columns"]["missing"][2]


def test_a_page_holds_part_of_very_long_runs(monkeypatch):
    """It is the same part of both runs, so no call is new or missing."""
    run = dataclasses.replace(batch_run(300))
    whole = len(document.html(compare(run, run)))
    monkeypatch.setattr(shortening, "MAX_CALLS", 40)
    # A trace works out only once what is shown of it.
    run = dataclasses.replace(run)
    part = compare(run, run).page_part

    assert part.this is page_excerpt(run)
    assert 100 > len(part.this.spans)
    assert () == part.alignment.new == part.alignment.missing
    assert whole > len(document.html(compare(run, run)))


def test_a_page_of_a_very_long_run_has_the_numbers_of_its_text(monkeypatch):
    """Calls that are not in the page count, too."""
    comparison = compare(batch_run(10), batch_run(300))
    monkeypatch.setattr(shortening, "MAX_CALLS", 40)
    part = compare(batch_run(10), batch_run(300)).page_part
    header, _ = wire.assemble(part)

    assert 100 > len(part.baseline.spans)
    assert comparison.counts == tuple(header["counts"])
    assert 290 == comparison.counts.missing
    assert f"{comparison.counts.missing:,} missing" in document.still(part)


def test_rows_of_folded_runs_say_how_many_of_their_calls_are_kept():
    """Those that are only counted are new or missing, too."""

    def loop(size: int) -> Trace:
        script = Script()
        script.model("outer")
        script.model("leaf")
        root = script.call(None, "outer", 0, 0, 0, 100, 0)
        for number in range(size):
            script.call(root, "leaf", number, 0, 0, 1, 0)
        return script.trace()

    short, folded = loop(3), shortened(loop(50), 20)
    longer, shorter = tree(compare(folded, short)), tree(compare(short, folded))

    assert "47 new" in longer.splitlines()[0]
    assert "47 missing" in shorter.splitlines()[0]
    assert re.search(rf"leaf {TIMES}50 .* 20 kept", longer)
    assert "~ 17 of the kept calls are new" in longer
    assert re.search(r"\n +leaf  .* 17 kept  missing", shorter)


def test_calls_that_were_not_compared_are_sent_as_ranges():
    """A range is its first call and its length."""
    run = batch_run(3000)
    header, _ = wire.assemble(compare(run, run))
    [(why, stretches)] = header["unknown"].items()

    assert why == UNRECORDED
    assert every(first >= 0 < many for first, many in stretches)
    assert len(compare(run, run).unknown[why]) == sum(many for _, many in stretches)


def test_calls_that_could_not_be_compared_are_named_with_the_reason():
    """They are not taken for equal."""
    head, *lines = tree(compare(invoice_run(), invoice_run())).splitlines()

    assert head.endswith("no change known, 3 not compared")
    assert [
        f"~ not compared: values are no longer kept. {PIN}",
        "~ not compared: tensors were not recorded",
        "~ 1 call not compared: tensors were not recorded",
    ] == [line.strip() for line in lines if "~" in line]


def test_the_text_of_many_calls_is_cut():
    """The number of further lines is at its end."""
    text = tree(compare(batch_run(2000), hostile_run()))

    assert len(text.splitlines()) <= 202
    assert every(character >= " " for line in text.splitlines() for character in line)


def test_the_golden_files_are_sent_and_shown():
    """Python and the page read the same files."""
    header, buffer = golden_run.compared()

    assert json.loads(golden_run.COMPARED_HEADER.read_text("utf-8")) == header
    assert golden_run.COMPARED_BUFFER.read_bytes() == buffer
    assert golden_run.COMPARED_TREE.read_text("utf-8") == tree(EDITED) + "\n"
    drawn = golden_run.COMPARED_PICTURE.read_text("utf-8")
    assert drawn == snapshot(EDITED)


def test_the_baseline_is_in_the_same_buffer_without_its_tensors():
    """Its columns decode to its calls, and each call has its counterpart."""
    header, buffer = golden_run.compared()
    baseline = header["baseline"]
    before = decode(baseline, buffer)

    assert [span.parent for span in invoice_run().spans] == before["parent"].tolist()
    assert (
        list(EDITED.alignment.baseline_of)
        == decode(header, buffer)["baseline"].tolist()
    )
    assert {"tensors", "sources", "logs"}.isdisjoint(baseline)


def test_many_changes_are_cut():
    """A page holds some of them, and the ids of all changed calls."""
    run = batch_run(3000)
    spans = [dataclasses.replace(span, error="boom") for span in run.spans]
    broken = dataclasses.replace(run, spans=tuple(spans))
    header, _ = wire.assemble(compare(broken, run))

    assert len(run.spans) == len(header["changed"])
    assert 2000 == len(header["changes"])


def test_the_picture_is_well_formed_and_short_whatever_the_runs():
    """Ten thousand calls or runs without a common call do not change that."""
    for this, before in itertools.permutations(
        (batch_run(), hostile_run(), invoice_run()), 2
    ):
        picture = snapshot(compare(this, before))
        ElementTree.fromstring(picture)
        assert len(picture) < 100_000


def test_the_title_of_a_comparison_fits_the_picture():
    """The name is cut, the numbers are not."""
    picture = ElementTree.fromstring(snapshot(EDITED))
    [title, *facts] = next(each for each in picture.iter() if each.get("y") == "24")

    assert "2 not compared" == facts[-1].text
    long = width(title.text, 13, bold=True)
    assert 30 + long + sum(14 + width(fact.text, 12) for fact in facts) <= WIDTH


def test_a_comparison_is_html_and_text():
    """Readers without scripts see the picture, a table and the text."""
    bundle = document.mimebundle(EDITED)
    html = bundle["text/html"]

    assert {"text/html", "text/latex", "text/markdown", "text/plain"} == set(bundle)
    detector = ("text_detector", "1", "7.26 ms", "11.4 ms", f"▼ {MINUS}4.12 ms")
    assert "".join(f"<td>{cell}</td>" for cell in detector) in html
    assert "<td>audit</td><td>1</td><td>505 µs</td><td></td><td>new</td>" in html
    assert "1 of 76,800 differ" in html
    assert 'alt="invoice_pipeline · request 7f3a, 76.2 ms wall' in html
    page = document.page(EDITED)
    assert page.startswith("<!doctype html>")
    assert "<title>invoice_pipeline · request 7f3a, vs 76.2 ms baseline</title>" in page


def test_markup_in_either_run_stays_text():
    """Names and errors of both runs are hostile."""
    for this, before in itertools.permutations((hostile_run(), invoice_run()), 2):
        still = document.still(compare(this, before))
        assert "<script>alert" not in still
        assert "<img src=x" not in still


def test_previews_can_be_left_out():
    """The document has no values then."""
    parts = [
        len(document.html(EDITED, embed_previews=embedded))
        for embedded in (True, False)
    ]

    assert parts[0] > parts[1] + 10_000
