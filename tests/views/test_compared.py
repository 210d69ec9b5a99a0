"""A comparison in words and rows."""

from __future__ import annotations

import pytest

from blsnb.trace.comparison import compare
from blsnb.trace.part import part_of
from blsnb.views.compared_facts import own_times
from blsnb.views.compared_rows import compared_rows
from blsnb.views.compared_tree import compared_tree
from blsnb.views.delta import MINUS, Delta
from blsnb.views.format import TIMES
from blsnb.views.rows import rows

from .samples import batch_run, edited_run, hostile_run, invoice_run

EDITED = compare(edited_run(), invoice_run())


def shown(comparison, **how) -> list[str]:
    return [_row(comparison, each) for each in compared_rows(comparison, **how)]


def _row(comparison, each) -> str:
    trace = comparison.baseline if each.missing else comparison.this
    sign = "-" if each.missing else "" if each.baseline else "+"
    return f"{sign}{trace.models[each.row.model].name}{len(each.row.calls)}"


@pytest.mark.parametrize(
    ("now", "before", "words"),
    [
        (105, 100, "≈"),
        (95, 100, "≈"),
        (106, 100, "▲ +6 µs"),
        (90, 100, f"▼ {MINUS}10 µs"),
        (0, 0, "≈"),
        (1, 0, "▲ +1 µs"),
    ],
)
def test_what_differs_by_five_per_cent_is_alike(now, before, words):
    """What runs twice never takes the same time twice."""
    assert words == Delta(now, before).words


def test_rows_are_those_of_the_run_and_missing_ones_between():
    """Where they once started, folded alike."""
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
    found = list(compared_rows(compare(run, run)))

    assert [each.row for each in found] == list(rows(run))
    assert all(each.baseline == each.row.calls for each in found)


def test_a_missing_call_shows_what_it_called():
    """Below it, missing too."""
    run = invoice_run()
    without = part_of(run, 1)
    found = shown(compare(without, run))

    assert ["+decode_image1", "-invoice_pipeline1", "-decode_image1"] == found[:3]
    assert ["-rerank1", "-embedder6"] == found[6:8]


def test_own_times_are_compared_model_by_model():
    """A model that is new has none to compare with."""
    names = [model.name for model in edited_run().models]
    signs = {
        names[model]: delta and delta.sign for model, delta in own_times(EDITED).items()
    }

    assert signs["text_detector"] == "▼"
    assert signs["llm_extract"] == "▲"
    assert signs["embedder"] == "≈"
    assert signs["audit"] is None


def test_the_text_says_it_all():
    """Both times, what differs and where, what is new and what is gone."""
    head, *lines = compared_tree(EDITED).splitlines()

    assert head.endswith("vs 76.2 ms baseline, 3 changed, 1 new, 1 missing")
    assert f"    text_detector  7.26 ms  ▼ {MINUS}4.12 ms" in lines
    score = "output SCORE_MAP: 1 of 76,800 differ; most by 0.25 at [0, 1, 45, 60]"
    assert any(score in line for line in lines)
    assert "    ~ output SURE: new: BOOL[1]" in lines
    assert any("error: none; before: ValueError" in line for line in lines)
    assert "    schema_check  975 µs  missing" in lines
    assert "    audit  505 µs  new" in lines
    assert f"    schema_check {TIMES}2  1.68 ms  ≈" in lines


def test_equal_runs_say_so():
    """Nothing is listed."""
    text = compared_tree(compare(invoice_run(), invoice_run()))

    assert text.splitlines()[0].endswith("no call changed")
    assert "~" not in text


def test_many_calls_are_a_page_of_text():
    """Lines are counted, not printed without end."""
    text = compared_tree(compare(batch_run(2000), hostile_run()))

    assert len(text.splitlines()) <= 202
    assert all(character >= " " for line in text.splitlines() for character in line)
