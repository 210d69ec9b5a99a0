"""Specification of pictures that follow the theme of their page."""

import re
from pathlib import Path

from blsnb.views.pictures import svg

STYLE = Path(__file__).parents[3] / "js/src/page/style.css"


def test_both_palettes_are_those_of_the_linked_view():
    """A picture and a view beside each other have the same colours."""
    light, dark = re.findall(r"\.view[^{]*\{([^}]*)\}", STYLE.read_text())[:2]
    for palette, text in ((svg.COLOURS, light), (svg.DARK, dark)):
        shown = dict(re.findall(r"--(\w+): (#\w+)", text))
        assert palette == {name: shown[name] for name in palette}


def test_each_colour_of_a_drawing_has_a_rule_and_no_other():
    """The light colour stays where the page says nothing."""
    drawing = svg.rect(0, 0, 1, 1, "card", stroke=svg.COLOURS["line"])
    rules = re.findall(r'\[(fill|stroke)="(#\w+)"\]', svg.dark_style(drawing))

    expected = [("fill", svg.COLOURS["card"]), ("stroke", svg.COLOURS["line"])]
    assert expected == rules
