"""A form as its reader meets it: every field with its label, hint and width."""

from __future__ import annotations

from pathlib import Path

from cells import cell
from reviewed import reviewed
from widget_tree import widget_tree

from .test_form import choose, fill, press

CONFIG = """
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
input { name: "NAME" data_type: TYPE_STRING dims: [ 1 ] }
input { name: "IMAGE" data_type: TYPE_UINT8 dims: [ -1, -1, 3 ] optional: true }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""


def test_the_page_is_the_reviewed_one(server):
    """``BLSNB_WRITE_GOLDEN=1`` writes the file anew."""
    server.define("m", cell("return [reply(x_of(request))]"), config=CONFIG)
    form = server.form("m")
    pages = [widget_tree(form.widget)]
    for source in ("Random", "File", "Variable"):
        choose(form, source)
        pages.append(widget_tree(form.widget))
    for source, entered in (("Random", "[2]"), ("Type in", "<b>")):
        choose(form, source)
        fill(form, entered)
        press(form, "Copy as code")
        pages.append(widget_tree(form.widget))
    text = "\n".join(pages)

    assert reviewed(Path(__file__).parent / "golden" / "form.txt", text) == text
