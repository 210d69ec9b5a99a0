"""Specification of batches in the text, the table and the page."""

import re

import pytest

from blsnb.trace.facts import Batching
from blsnb.views.documents import document
from blsnb.views.format import TIMES
from blsnb.views.tree import tree
from views.encoded import decode, encode

from .samples import Script

FULL = Batching(2, True, "largest size reached", "the largest size 3 was reached")
WIDE = Batching(2, False, "shape differs", "shape of X differs: [3] instead of [2]")
ALONE = Batching(3, True, "instance free", "an instance was free")


@pytest.fixture
def fan_out():
    """Return three calls in one execution, and one outside it."""
    script = Script()
    script.model("pipeline")
    script.model("encoder")
    root = script.call(None, "pipeline", 0, 5, 5, 900, 5)
    for number in range(4):
        call = script.call(root, "encoder", 10 + number, 5, 5, 90, 5)
        call.execution, call.batch = (2, 3) if number < 3 else (3, 1)
        call.batching = [FULL] if number < 3 else [WIDE, ALONE]
    return script


def test_the_text_has_executions_and_reasons_of_missed_batches(fan_out):
    """A line of calls has the number of executions and the kinds of reasons."""
    lines = tree(fan_out.trace()).splitlines()

    assert f"    encoder {TIMES}4  440 µs  in 2 executions" == lines[2]
    assert "      ~ not with a batch before: shape differs" == lines[3]


def test_the_text_of_a_single_call_has_its_batch():
    """Other requests of the batch may be of other runs."""
    script = Script()
    script.model("encoder")
    script.call(None, "encoder", 0, 5, 5, 90, 5).batch = 3

    assert tree(script.trace()).splitlines()[1].endswith("  batch of 3")


def test_reasons_in_the_text_are_counted_and_few():
    """The most frequent ones come first."""
    script = Script()
    script.model("encoder")
    call = script.call(None, "encoder", 0, 5, 5, 90, 5)
    call.batching = [
        Batching(number, False, cause, cause, times=number)
        for number, cause in enumerate(("a", "b", "c", "d"), 1)
    ]

    last = tree(script.trace()).splitlines()[-1]
    expected = f"d {TIMES}4, c {TIMES}3, b {TIMES}2 and 1 more"
    assert f"    ~ not with a batch before: {expected}" == last


def test_the_table_has_a_column_of_executions_if_there_were_batches(fan_out):
    """Other tables have no such column."""
    page = document.still(fan_out.trace())
    assert "<th>executions</th>" in page
    assert ">encoder</td>4</td>2</td>" in re.sub("<td [^>]*>", "", page)

    for call in fan_out.calls:
        call.batch = 1
    assert "executions" not in document.still(fan_out.trace())


def test_the_page_receives_size_reasons_and_runs_of_batches(fan_out):
    """There is nothing for a model without a batcher."""
    fan_out.calls[1].batching = [FULL._replace(runs=("0001", "0002"))]
    header, buffer = encode(fan_out.trace())

    assert [1, 3, 3, 3, 1] == decode(header, buffer)["batch"].tolist()
    assert {"1", "2", "3", "4"} == header["batching"].keys()
    assert [[*FULL[:4], ["0001", "0002"], 1]] == header["batching"]["1"]
    assert [[*WIDE[:4], [], 1], [*ALONE[:4], [], 1]] == header["batching"]["4"]


def test_markup_and_surrogates_in_reasons_stay_data(fan_out):
    """A reason contains names of tensors."""
    fan_out.calls[1].batching = [FULL._replace(words="</script>\ud800")]
    header, _ = encode(fan_out.trace())

    assert "</script>\\ud800" == header["batching"]["1"][0][3]
    assert "</script>\\ud800" not in document.html(fan_out.trace())
