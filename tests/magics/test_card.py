"""Specification of cards and tables."""

import re

from blsnb.magics import card
from blsnb.repository.status import ModelStatus


def status(**changed):
    facts = {
        "name": "add",
        "versions": (1,),
        "state": "READY",
        "reason": "",
        "inputs": ("X:FP32[-1]",),
        "outputs": ("Y:FP32[-1]",),
        "max_batch_size": 0,
        "instance_count": 1,
        "load_s": 0.0041,
    }
    return ModelStatus(**(facts | changed))


def test_a_card_is_one_line_of_text():
    """Name, version, state, inputs and outputs, load time."""
    expected = "add version 1 READY  X:FP32[-1] -> Y:FP32[-1]  loaded in 4.1 ms"

    assert expected == card.text(status())


def test_what_is_not_usual_is_added():
    """Batching, and more than one instance."""
    text = card.text(status(max_batch_size=8, instance_count=2))

    assert "max batch size 8  2 instances  loaded" in text


def test_a_failure_stands_below_what_still_serves():
    """Both facts, in both forms."""
    shown = card.bundle(status(), "the new one did not load")

    expected = "⚠ the new one did not load: the previous version still serves"
    assert expected == shown["text/plain"].splitlines()[1]
    assert expected in shown["text/html"]


def test_a_model_that_does_not_serve_says_why():
    """In the words of the index."""
    gone = status(versions=(), state="UNAVAILABLE", reason="unloaded", load_s=0.0)

    expected = "add UNAVAILABLE  X:FP32[-1] -> Y:FP32[-1]\n⚠ unloaded"
    assert expected == card.text(gone)


def test_files_that_are_no_model_yet_are_no_failure():
    """A configuration that is written first looks neither good nor bad."""
    waiting = {"versions": (), "state": "not loaded", "load_s": 0.0}
    page = card.bundle(status(**waiting))["text/html"]
    odd = card.bundle(status(**waiting, findings=("an odd line",)))["text/html"]
    bar = re.compile(r"border-left:4px solid (#\w+)")

    assert "#8888" == bar.search(page)[1]
    assert "#b42318" == bar.search(odd)[1]


def test_names_are_no_markup():
    """Names of models and tensors are other people's texts."""
    hostile = "<script>alert(1)</script>"
    shown = card.bundle(status(name=hostile, inputs=(hostile,)), hostile)
    table = card.table([status(name=hostile)])

    assert "<script" not in shown["text/html"] + table["text/html"]


def test_many_tensors_are_counted():
    """A card stays small."""
    text = card.text(status(inputs=tuple(f"X{n}:FP32[1]" for n in range(12))))

    assert "X7:FP32[1], … 4 more -> Y" in text


def test_times_are_short():
    """Three digits are enough."""
    times = [card.milliseconds(s) for s in (0.00412, 0.12345, 2.5)]

    assert ["4.1 ms", "123 ms", "2.50 s"] == times


def test_a_table_without_rows_has_its_head():
    """It is a table nevertheless."""
    assert "model  version" == card.grid(("model", "version"), [])["text/plain"]
