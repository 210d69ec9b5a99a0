"""A comparison as a picture and as a page: differences come first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from reviewed import reviewed
from views.samples import invoice_run

from blsnb.parity import page, picture
from blsnb.parity.agreement import Case
from blsnb.parity.checks import check
from blsnb.parity.parity import Parity
from blsnb.parity.triton.outcome import ClientFailure, ClientOutcome, ClientResponse
from blsnb.tensors.convert import to_ref
from blsnb.views.documents import document


def outcome(*values, duration_ns: int = 1_500_000) -> ClientOutcome:
    """Return an outcome with these values or error texts."""
    return ClientOutcome(tuple(response(each) for each in values), duration_ns)


def response(value) -> ClientResponse:
    """Return a response with a value, or an error."""
    if isinstance(value, str):
        return ClientResponse(failure=ClientFailure("INTERNAL", value))
    return ClientResponse((to_ref("Y", np.asarray(value), None, 0),), at_ns=1_000_000)


def parity(*pairs) -> Parity:
    """Return the comparison of pairs of outcomes."""
    cases = [
        Case(f"case {number}", ours, theirs, check(ours, theirs))
        for number, (ours, theirs) in enumerate(pairs, 1)
    ]
    return Parity("model $x$", "Triton 2.51.0", tuple(cases), ("a note",))


GOLDEN = Path(__file__).parent / "golden"
SAME = outcome([1, 2]), outcome([1, 2], duration_ns=9_000_000)
MOVED = outcome(np.zeros(500)), outcome(np.eye(500)[77])


def texts(figure) -> list[str]:
    """Return the texts of a figure."""
    return [each.get_text() for each in figure.texts]


def described(figure) -> Iterator[str]:
    """Yield what a figure consists of, with places in pixels."""
    width, height = figure.get_size_inches() * figure.dpi
    yield f"{width:.0f} x {height:.0f} on {to_hex(figure.get_facecolor())}"
    for each in figure.texts:
        x, y = each.get_position()
        yield (
            f"{x * width:.0f} {(1 - y) * height:.0f} {each.get_fontsize():g} "
            f"{each.get_fontweight()} {each.get_color()} {each.get_text()}"
        )
    for axes in figure.axes:
        left, bottom, wide, high = axes.get_position().bounds
        top = (1 - bottom - high) * height
        box = f"{left * width:.0f} {top:.0f} {wide * width:.0f} x {high * height:.0f}"
        edges = {to_hex(each.get_edgecolor()) for each in axes.spines.values()}
        ticks = f"{len(axes.get_xticks())} {len(axes.get_yticks())} ticks"
        yield f"axes {box} {', '.join(edges)} {ticks} margins {axes.margins()}"
        for bar in axes.patches:
            numbers = bar.get_y(), bar.get_height(), bar.get_width()
            limits = *axes.get_xlim(), *axes.get_ylim()
            place, within = (
                " ".join(f"{each:g}" for each in found) for found in (numbers, limits)
            )
            colour = to_hex(bar.get_facecolor(), keep_alpha=True)
            yield f"  bar {place} {colour} within {within}"
        for line in axes.lines:
            points = [
                f"{n:g}:{value:g}"
                for n, value in zip(line.get_xdata(), line.get_ydata(), strict=True)
            ]
            style = f"{line.get_marker()} {line.get_markersize():g}"
            shown = points if len(points) < 5 else [points[0], "...", points[-1]]
            yield (
                f"  line {line.get_color()} {line.get_linewidth():g} "
                f"{line.get_linestyle()} {style}: {len(points)} {' '.join(shown)}"
            )


def test_a_page_without_a_case_has_no_calls():
    """Its table is empty."""
    assert page.html(parity()).endswith("<tbody></tbody></table></details>")


def test_the_picture_is_the_reviewed_one():
    """``BLSNB_WRITE_GOLDEN=1`` writes the file anew."""
    streams = [outcome(*[[n, n + add] for n in range(9)]) for add in (0, 1)]
    pairs = (
        SAME,
        MOVED,
        (outcome("boom"), outcome("boom")),
        (outcome("boom"), outcome([1.5, np.nan])),
        (streams[0], streams[0]),
        (streams[0], streams[1]),
        (outcome([1.0, np.inf]), outcome([1.0, 2.0])),
        (outcome(np.arange(40)), outcome(np.arange(40))),
    )
    text = "\n".join(described(parity(*pairs).plot())) + "\n"
    text += "\n".join(described(parity(pairs[2], pairs[7]).plot())) + "\n"
    found = GOLDEN / "picture.txt"

    assert reviewed(found, text) == text


def test_the_picture_has_a_line_for_each_part():
    """It contains both values, the verdict and the durations."""
    written = texts(parity(SAME).plot())

    for text in ("= Y", "INT64[2]: 1, 2", "all 2 the same", "1.50 ms"):
        assert text in written
    assert ["time", "1.50 ms", "9 ms, by gRPC"] == written[-3:]
    assert r"model \$x\$ on blsnb and Triton 2.51.0: 1 case, no difference" in written


def test_differences_are_drawn_first_and_marked():
    """A line marks the largest deviation."""
    figure = parity(SAME, MOVED).plot()
    written = texts(figure)

    assert written.index("case 2") < written.index("case 1")
    assert "1 of 500 differ, most by 1 at [77]" in written
    marked = [
        line.get_xdata()[0]
        for axes in figure.axes
        for line in axes.lines
        if line.get_linestyle() == "--"
    ]
    assert [77] == marked


def test_streams_of_different_lengths_are_counted():
    """A single response on both sides is not worth a number."""
    several = outcome(1, 2, 3), outcome(1, 2)

    assert "3 and 2 responses" in texts(parity(several).plot())
    assert not [each for each in texts(parity(SAME).plot()) if "responses" in each]


def test_durations_are_bars_below_each_other():
    """The bar of blsnb is above that of the real server."""
    bars = [
        (bar.get_y() + bar.get_height() / 2, bar.get_width())
        for axes in parity(SAME).plot().axes
        for bar in axes.patches
    ]

    assert [(1, 1_500_000), (0, 9_000_000)] == bars


def test_parts_and_cases_beyond_the_maximum_are_counted():
    """The picture stays small enough to be read."""
    long = outcome(*[[n, n] for n in range(90)])
    written = texts(parity(*[(long, long)] * 9).plot())

    assert "… 84 further parts, no difference" in written
    assert any("; 3 further cases not drawn" in text for text in written)


@pytest.mark.parametrize(("most", "more"), [(2, 0), (1, 1)])
def test_rows_of_the_table_beyond_the_maximum_are_counted(monkeypatch, most, more):
    """A table that has exactly the maximum is whole."""
    found = parity((outcome(1, 2), outcome(1, 2)))
    assert 2 == len(found.table()[1])
    monkeypatch.setattr(page, "_MAX_ROWS", most)

    assert more == page.html(found).count("<p>… 1 further row</p>")
    assert more == page.html(found).count("further row")


@pytest.mark.parametrize(
    "pair",
    [
        (outcome("boom"), outcome("bang")),
        (outcome("At:\n  model.py\n"), outcome([b"\xe7\x96\x97"])),
        (outcome("boom"), outcome([1.5, np.nan])),
        (outcome([np.inf, -np.inf]), outcome([np.nan, 1.0])),
        (outcome([1.7e308, -1.7e308]), outcome([-1.7e308, 1.0])),
        (outcome(np.zeros((0, 3))), outcome(np.zeros((3, 0)))),
        (outcome([b"<b>", b"\xff\xfe"]), outcome([b"<i>", b""])),
        (outcome(np.float32(2)), outcome(np.float32(3))),
        (outcome(), outcome([1])),
        (outcome(np.zeros((2, 3), bool)), outcome(np.ones((2, 3), bool))),
    ],
)
def test_every_outcome_can_be_drawn(pair):
    """Errors, infinities, no responses, markup, characters without a glyph."""
    found = parity(pair)

    assert picture.png(found).startswith(b"\x89PNG")
    assert "<b>" not in page.html(found)
    assert not found.agree


def test_the_table_is_open_if_there_are_differences(monkeypatch):
    """Lines of a text remain, and long texts are cut."""
    monkeypatch.setattr(page, "_MAX_TEXT", 8)
    style = 'style="text-align:left;vertical-align:top;white-space:pre-wrap"'
    cells = (
        *("case", "part", "blsnb", "Triton", ""),
        *("case 1", "error co…", "INTERNAL", "INTERNAL", "= the sa…"),
        *("case 1", "error te…", "a&lt;<br>bcdef", "a&lt;<br>bcdef…", "≠ differ…"),
    )
    tags = ["th"] * 5 + ["td"] * 10
    rows = [
        f"<{tag} {style}>{cell}</{tag}>" for tag, cell in zip(tags, cells, strict=True)
    ]
    found = parity((outcome("a<\nbcdef"), outcome("a<\nbcdefgh")))
    html = page.html(found)

    assert [
        f"<details open><summary>All compared parts</summary><table><thead><tr>"
        f"{''.join(rows[:5])}</tr></thead><tbody><tr>{''.join(rows[5:10])}</tr><tr>"
        f"{''.join(rows[10:])}</tr></tbody></table></details>"
    ] == [html[html.index("<details") : html.index("</details>") + 10]]
    assert "<details><summary>All compared parts" in page.html(parity(SAME))
    assert "<p><small>a note</small></p><details" in html


def test_the_calls_on_both_servers_are_below_the_table():
    """They are those of the case that the picture shows."""
    found = SimpleNamespace(
        shown_case=SimpleNamespace(name="a<b"),
        comparison=SimpleNamespace(trace=invoice_run()),
    )

    head, calls = page._calls(found, False).split("</p>", 1)
    assert "<p>Calls of a&lt;b on blsnb, above those on the real server" == head
    assert document.html(invoice_run(), embed_previews=False) == calls
    assert document.html(invoice_run()) != calls
    assert "" == page._calls(SimpleNamespace(shown_case=None, comparison=found), True)


def test_a_saved_page_contains_the_table(tmp_path):
    """The page needs no kernel and no network."""
    found = parity(SAME, MOVED)
    saved = found.save(tmp_path / "found.html").read_text()

    for text in ("≠ 1 of 500 differ, most by 1 at [77]", "a note", "data:image/png;"):
        assert text in saved
    assert "http://" not in saved
    with pytest.raises(ValueError, match=r"^a parity is saved as \.html, not '\.png'$"):
        found.save(tmp_path / "found.png")


def test_a_comparison_without_cases_does_not_agree():
    """Its exit code is 1."""
    assert (False, 1) == (parity().agree, parity().exit_code)
    assert parity().comparison is None
    assert (None, None) == (parity().run, parity().real_run)
