"""Specification of the picture of a graph, and of the lists below it."""

from __future__ import annotations

import re
from pathlib import Path

from reviewed import reviewed

from blsnb.model_graph.finding import Finding
from blsnb.model_graph.graph import GraphCall, GraphModel, Measured, ModelGraph
from blsnb.model_graph.picture import draw, page
from blsnb.views.format import TIMES


def texts_of(graph, **options):
    """Return the texts of a drawing, from the first box to the last."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", draw(graph, **options).svg)


def test_findings_are_listed_with_their_places():
    """A fault has a sign; a foreign text stays text."""
    findings = (
        Finding("a<b", "sends \x1b&", "model.py:3"),
        Finding("c", "never answers", is_fault=False),
    )
    shown = page(ModelGraph((GraphModel("a<b", "python"),), (), findings))

    assert (
        '<ul style="margin:6px 0;padding-left:20px"><li>⚠ <b>a&lt;b</b> '
        "<code>model.py:3</code> sends ␛&amp;</li><li><b>c</b> never answers</li></ul>"
    ) in shown
    assert "<ul" not in page(ModelGraph((GraphModel("a", "python"),), ()))


def test_long_lists_are_cut():
    """A list of exactly the limit is whole."""
    models = tuple(GraphModel(f"m{number}", "python") for number in range(301))
    findings = tuple(Finding("m", str(number)) for number in range(101))
    graph = ModelGraph(models, (), findings)

    shown = page(graph)
    assert "<summary>101 more models, not drawn</summary><code>m200, m201, " in shown
    assert ", m299 and 1 more</code>" in shown
    assert "<li>… 1 more</li></ul>" in shown
    whole = page(ModelGraph(models[:300], (), findings[:100]))
    assert ", m299</code>" in whole
    assert "<li>… " not in whole


PAIR = (GraphModel("callee", "python"), GraphModel("caller", "python", 2))
CALL = GraphCall(1, 0, ("model.py:1",))


def test_only_models_with_calls_are_drawn_if_there_are_any():
    """Callers are first."""
    alone = GraphModel("alone", "python")

    drawing = draw(ModelGraph((*PAIR, alone), (CALL,)))
    assert [1, 0] == [number for number, _, _ in drawing.places]
    assert "<summary>1 more model, not drawn</summary><code>alone</code>" in page(
        ModelGraph((*PAIR, alone), (CALL,))
    )
    assert {0, 1, 2} == draw(ModelGraph((*PAIR, alone), ())).models


def many(count, *, shared=1):
    """Return pipelines of four models, which also share some."""
    models = [GraphModel(f"shared{number}", "python") for number in range(shared)]
    calls = []
    for number in range(count):
        start = len(models)
        for kind in ("entry", "first", "second", "third"):
            models.append(GraphModel(f"{kind}{number}", "python"))
        targets = [*range(start + 1, start + 4), *range(shared)]
        calls += [GraphCall(start, target, ()) for target in targets]
    return ModelGraph(tuple(models), tuple(calls))


def test_pipelines_that_are_too_wide_together_are_drawn_one_by_one():
    """Each has its own box of a model that they share."""
    together, apart = draw(many(1)), draw(many(4))

    assert 5 == len(together.places)
    assert {0, *range(1, 17)} == apart.models
    assert [1, 2, 3, 4, 0] == [number for number, _, _ in apart.places[:5]]
    assert 4 == sum(number == 0 for number, _, _ in apart.places)
    assert 'aria-label="Graph of 17 models"' in apart.svg
    corners = {(x, y) for _, x, y in apart.places}
    assert len(apart.places) == len(corners)


def test_pipelines_that_share_most_of_their_models_are_drawn_together():
    """One by one they would hide that."""
    graph = many(4, shared=20)

    assert len(graph.models) == len(draw(graph).places)


def test_a_pipeline_is_drawn_whole_or_not_at_all():
    """The others are listed; one that is too large alone is cut."""
    assert 200 == len(draw(many(41)).places)
    assert {*range(0, 161)} == draw(many(41)).models
    shown = page(many(41))
    assert "<summary>4 more models, not drawn</summary>" in shown
    assert "<code>entry40, first40, second40, third40</code>" in shown
    assert 200 == len(draw(many(1, shared=300)).places)


def test_models_that_call_each_other_in_a_circle_are_drawn():
    """The first of them is on top."""
    pair = (GraphModel("a", "python"), GraphModel("b", "python"))
    circle = ModelGraph(pair, (GraphCall(0, 1, ()), GraphCall(1, 0, ())))

    assert [0, 1] == [number for number, _, _ in draw(circle).places]


def test_a_box_has_the_calls_and_the_time_of_the_last_run():
    """Or its instances and its faults."""
    edges = {("caller", "callee"): 3}
    run = Measured({"caller": 1, "callee": 3}, {"callee": 1500.0}, edges)
    faults = (Finding("callee", "a"), Finding("callee", "b"))
    remark = Finding("caller", "c", is_fault=False)

    assert [
        "caller",
        "0 µs",
        "2 instances",
        "callee",
        f"{TIMES}3 1.50 ms",
        f"{TIMES}3",
    ] == texts_of(ModelGraph(PAIR, (CALL,), measured=run), has_legend=False)
    assert ["caller", "python", "2 instances", "callee", "python", "2"] == texts_of(
        ModelGraph(PAIR, (CALL,), (*faults, remark)), has_legend=False
    )


def test_a_missing_model_is_a_fault_of_its_own():
    """An undecided one may be right."""
    targets = (GraphModel("gone", "missing"), GraphModel("name", "undecided"))
    calls = (GraphCall(0, 1, ()), GraphCall(0, 2, ()))
    graph = ModelGraph((GraphModel("m", "python", 1), *targets), calls)

    texts = texts_of(graph, has_legend=False)
    assert ["m", "python"] == texts[:2]
    assert ["gone", "no such model", "1"] == texts[2:5]
    assert ["name", "undecided"] == texts[5:7]


def test_the_picture_is_the_reviewed_one():
    """``BLSNB_WRITE_GOLDEN=1`` writes the file anew."""
    models = (
        GraphModel("first", "ensemble", file="models/a b/config.pbtxt"),
        GraphModel("second<b>", "python", 3, file="m/1/model.py"),
        GraphModel("third", "onnxruntime"),
        GraphModel("gone", "missing"),
        GraphModel("args[0]", "undecided"),
    )
    calls = (
        GraphCall(0, 1, ("step 1",)),
        GraphCall(1, 2, ("model.py:3",), is_async=True, is_stream=True),
        GraphCall(1, 3, ("model.py:4",)),
        GraphCall(1, 4, ("model.py:5",)),
    )
    run = Measured(
        {"first": 1, "second<b>": 2, "third": 4},
        {"second<b>": 1500.0, "third": 20.0},
        {("first", "second<b>"): 2, ("second<b>", "third"): 4},
    )
    found = (Finding("second<b>", "fails", "model.py:3"),)
    pages = [
        page(ModelGraph(models, calls, found)),
        page(ModelGraph(models, calls, found, run)),
        page(ModelGraph(models[:3], (), found)),
        draw(ModelGraph(models, calls), 400, has_legend=False).svg,
    ]
    text = "\n".join(pages).replace("><", ">\n<") + "\n"

    assert reviewed(Path(__file__).parent / "golden" / "picture.html", text) == text
