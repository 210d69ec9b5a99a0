"""A server as a table, and as what travels to a page."""

import json
import math
import re

from blsnb.views.live.overview import ModelRow, Overview

BUSY = ModelRow(
    "double",
    1,
    "READY",
    "",
    1,
    2,
    3,
    1234.5,
    98.04,
    2400.0,
    56789,
    2,
    failed_lately=1,
    p99_us=4800.0,
    queued_us=12.5,
    batch=3.25,
)
GONE = ModelRow("gone", 2, "UNAVAILABLE", "unloaded\nand more")
HOSTILE = ModelRow("<script>x</script>\u202e", 1, "READY", "<b>&\ud800")


def words(line):
    """The line with single spaces."""
    return " ".join(line.split())


def test_a_table_of_text_has_a_line_for_each_version():
    """An unknown number is a dash."""
    caption, head, busy, gone = str(Overview(4, 1234.5, (BUSY, GONE))).splitlines()

    assert "4 in flight, 1,234 requests/s, 3 waiting, 2 failed" == caption
    assert (
        "model version state busy queue wait batch requests/s p50 p95 p99 requests "
        "failed"
    ) == words(head)
    assert (
        "double 1 READY 1 of 2 3 12.5 µs 3.25 1,234 98.0 µs 2.40 ms 4.80 ms 56,789 2"
        == words(busy)
    )
    assert "gone 2 UNAVAILABLE: unloaded - 0 - - - - - - 0 0" == words(gone)


def test_the_table_of_a_server_without_models_is_its_head():
    """The caption is above it."""
    assert 2 == len(str(Overview(0, math.nan, ())).splitlines())


def test_the_table_of_a_page_has_a_row_for_each_version():
    """Texts are at the left, and numbers at the right."""
    page = Overview(1, 2.0, (GONE, GONE)).html()
    cells = re.findall(
        r'<t([hd])(?: scope="col")? style="text-align:(\w+)[^"]*">', page
    )
    row = re.findall(r"<td[^>]*>([^<]*)</td>", page)[:13]

    assert page.startswith(
        "<table><caption>1 in flight, 2 requests/s, 0 waiting, 0 failed</caption>"
        "<thead><tr><th "
    )
    assert page.endswith("</td></tr></tbody></table>")
    assert 1 == page.count("</th></tr></thead><tbody><tr><td ")
    assert 1 == page.count("</td></tr><tr><td ")
    sides = ["left"] * 3 + ["right"] * 10
    assert [*zip("h" * 13 + "d" * 26, sides * 3, strict=True)] == cells
    dashes = ["-"] * 6
    assert ["gone", "2", "UNAVAILABLE: unloaded", "-", "0", *dashes, "0", "0"] == row


def test_hostile_names_stay_text_in_the_page():
    """Characters that change the direction of writing are marked."""
    page = Overview(0, math.nan, (HOSTILE,)).html()

    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;x&lt;/script&gt;⟨U+202E⟩" in page


def test_an_overview_is_strict_json():
    """It has no NaN and no lone surrogates."""
    sent = Overview(1, math.nan, (BUSY, GONE, HOSTILE), (1.26, 2.0), 7).wire()
    text = json.dumps(sent, allow_nan=False, ensure_ascii=False).encode("utf-8")
    back = json.loads(text)

    assert (1, None, 3, 2, 7, [1.3, 2.0], False) == (
        back["in_flight"],
        back["per_second"],
        back["waiting"],
        back["failed"],
        back["looks"],
        back["history"],
        back["ended"],
    )
    assert [1234.5, None, None] == [row["per_second"] for row in back["rows"]]
    assert "\\ud800" in back["rows"][2]["reason"]
