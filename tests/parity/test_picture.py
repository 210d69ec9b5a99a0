"""A parity as one picture and as a page: what differs is seen first."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.parity import page, picture
from blsnb.parity.agreement import Case
from blsnb.parity.checks import check
from blsnb.parity.parity import Parity
from blsnb.parity.triton.answers import Answer, Answers, Failure
from blsnb.tensors.convert import to_ref


def answers(*values, took_ns: int = 1_500_000) -> Answers:
    """Return responses with these values, or texts of errors."""
    return Answers(tuple(answer(each) for each in values), took_ns)


def answer(value) -> Answer:
    """Return a response with a value, or an error."""
    if isinstance(value, str):
        return Answer(failure=Failure("INTERNAL", value))
    return Answer((to_ref("Y", np.asarray(value), None, 0),), at_ns=1_000_000)


def parity(*pairs) -> Parity:
    """Return the comparison of these answers."""
    cases = [
        Case(f"case {number}", ours, theirs, check(ours, theirs))
        for number, (ours, theirs) in enumerate(pairs, 1)
    ]
    return Parity("model $x$", "Triton 2.51.0", tuple(cases), ("a note",))


SAME = answers([1, 2]), answers([1, 2], took_ns=9_000_000)
MOVED = answers(np.zeros(500)), answers(np.eye(500)[77])


def texts(figure) -> list[str]:
    """Return what is written on a figure."""
    return [each.get_text() for each in figure.texts]


def test_the_picture_has_a_line_for_each_part():
    """What both gave, in what they differ, and how long they took."""
    written = texts(parity(SAME).plot())

    for text in ("= Y", "INT64[2]: 1, 2", "all 2 the same", "1.50 ms"):
        assert text in written
    assert "9 ms, by gRPC" in written
    assert r"model \$x\$ beside Triton 2.51.0: 1 case, all the same" in written


def test_what_differs_is_drawn_first_and_marked():
    """With the place of the largest deviation."""
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


def test_many_parts_and_cases_are_counted():
    """A picture that nobody reads to its end shows nothing."""
    long = answers(*[[n, n] for n in range(90)])
    written = texts(parity(*[(long, long)] * 9).plot())

    assert "… 84 further parts, all the same" in written
    assert any("; 3 further cases not drawn" in text for text in written)


@pytest.mark.parametrize(
    "pair",
    [
        (answers("boom"), answers("bang")),
        (answers("At:\n  model.py\n"), answers([b"\xe7\x96\x97"])),
        (answers("boom"), answers([1.5, np.nan])),
        (answers([np.inf, -np.inf]), answers([np.nan, 1.0])),
        (answers(np.zeros((0, 3))), answers(np.zeros((3, 0)))),
        (answers([b"<b>", b"\xff\xfe"]), answers([b"<i>", b""])),
        (answers(np.float32(2)), answers(np.float32(3))),
        (answers(), answers([1])),
        (answers(np.zeros((2, 3), bool)), answers(np.ones((2, 3), bool))),
    ],
)
def test_whatever_was_answered_can_be_shown(pair):
    """Errors, infinities, nothing at all, markup, signs that no font has."""
    found = parity(pair)

    assert picture.png(found).startswith(b"\x89PNG")
    assert "<b>" not in page.html(found)
    assert not found.agree


def test_the_page_says_it_in_words_too(tmp_path):
    """And is whole: it needs no kernel, and no network."""
    found = parity(SAME, MOVED)
    saved = found.save(tmp_path / "found.html").read_text()

    for text in ("≠ 1 of 500 differ, most by 1 at [77]", "a note", "data:image/png;"):
        assert text in saved
    assert "http://" not in saved
    with pytest.raises(ValueError, match=r"saved as \.html, not '\.png'"):
        found.save(tmp_path / "found.png")


def test_no_case_is_no_parity():
    """Nothing was shown to be the same."""
    assert (False, 1) == (parity().agree, parity().exit_code)
    assert parity().comparison is None
