"""Specification of a run as a matplotlib figure."""

import warnings

from IPython.core.formatters import DisplayFormatter

from blsnb.views.figures.figure import plot, png

from .. import golden_run
from ..samples import Script, hostile_run, invoice_run


def test_a_figure_shows_the_graph_and_the_timeline():
    """Each model is a box, and each row has its name."""
    graph, timeline = plot(invoice_run()).axes
    boxes = {text.get_text() for text in graph.texts}
    names = [label.get_text().strip() for label in timeline.get_yticklabels()]

    assert {"invoice_pipeline", "embedder", "46 resp"} <= boxes
    assert 11 == len(names)
    assert "crop_recognizer \N{MULTIPLICATION SIGN}12" == names[4]


def test_the_figures_of_the_samples_are_the_golden_ones():
    """A change of a text, a place or a colour is reviewed before it is accepted."""
    assert golden_run.FIGURE.read_text("utf-8") == golden_run.figure()


def test_a_figure_is_a_picture_in_a_notebook():
    """It needs no pyplot, which would keep it."""
    figure = plot(invoice_run())
    shown, _ = DisplayFormatter().format(figure)

    assert shown["image/png"] == png(invoice_run())
    assert shown["text/plain"].startswith("<Figure size ")


def test_hostile_names_are_neither_formulas_nor_warnings():
    """A dollar sign starts no formula; missing glyphs are replaced."""
    script = Script()
    script.model("$\\frac{1}$")
    script.call(None, "$\\frac{1}$", 0, 1, 1, 5, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pictures = [png(script.trace()), png(hostile_run())]

    assert [b"\x89PNG"] * 2 == [picture[:4] for picture in pictures]


def test_recursion_and_errors_are_drawn():
    """A loop, a failed call and a run of one row are drawn."""
    script = Script()
    script.model("m")
    outer = script.call(None, "m", 0, 0, 0, 100, 0)
    for at in range(40):
        script.model(f"m{at}")
        script.call(outer, f"m{at}", at, 0, 0, 5, 0)
    script.call(outer, "m", 50, 0, 0, 5, 0)

    _, timeline = plot(script.trace()).axes
    assert "… 10 more rows" == timeline.get_xlabel()
