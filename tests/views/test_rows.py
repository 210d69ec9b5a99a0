"""Specification of the rows of a timeline."""

import pytest
from asserting import every
from hypothesis import given
from hypothesis import strategies as st

from blsnb.views.rows import distinct_names, rows

from .samples import Script, batch_run, invoice_run


def told(trace, **options):
    names = distinct_names(trace)
    return [
        ("  " * row.depth + names[row.model], len(row.calls))
        for row in rows(trace, **options)
    ]


def test_four_calls_of_one_model_by_one_caller_are_one_row():
    """Three calls are three rows, in order of their start."""
    assert [
        ("invoice_pipeline", 1),
        ("  decode_image", 1),
        ("  text_detector", 1),
        ("  layout_model", 1),
        ("  crop_recognizer", 12),
        ("  rerank", 1),
        ("    embedder", 6),
        ("  llm_extract", 1),
        ("  schema_check", 1),
        ("  schema_check", 1),
        ("  schema_check", 1),
    ] == told(invoice_run())


@pytest.mark.parametrize(("count", "sizes"), [(3, [1, 1, 1]), (4, [4]), (5, [5])])
def test_calls_are_folded_from_the_fourth_on(count, sizes):
    """Another number may be asked for."""
    script = Script()
    script.model("m")
    for at in range(count):
        script.call(None, "m", at, 0, 0, 1, 0)

    assert [("m", size) for size in sizes] == told(script.trace())
    assert [("m", 1)] * count == told(script.trace(), fold_from=count + 1)
    assert [("m", count)] == told(script.trace(), fold_from=count)


def test_a_name_has_at_most_400_characters():
    """Its middle is left out."""
    script = Script()
    for size in (400, 401):
        script.model("x" * size)
        script.call(None, "x" * size, 0, 0, 0, 1, 0)
    whole, cut = distinct_names(script.trace())

    assert ("x" * 400, 400, 1) == (whole, len(cut), cut.count("…"))


def test_below_a_folded_row_all_callees_are_folded():
    """They belong to different callers."""
    below = [row for row in rows(batch_run(300)) if row.depth == 2]

    assert below
    assert every(row.folded for row in below)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), max_size=30))
def test_every_call_is_in_exactly_one_row(calls):
    """Folding neither loses nor repeats a call, in any tree."""
    script = Script()
    for name in "abc":
        script.model(name)
    for at, (parent, model) in enumerate(calls):
        caller = script.calls[parent] if parent < len(script.calls) else None
        script.call(caller, "abc"[model], at, 0, 0, 1, 0)
    if not calls:
        return

    found = [call for row in rows(script.trace()) for call in row.calls]
    assert list(range(len(calls))) == sorted(found)


def test_a_chain_deeper_than_pythons_stack_has_rows():
    """The rows of recursive models are found without recursion."""
    script = Script()
    script.model("m")
    caller = None
    for at in range(3000):
        caller = script.call(caller, "m", at, 0, 0, 1, 0)

    assert 2999 == list(rows(script.trace()))[-1].depth


def test_models_with_the_same_name_have_their_version():
    """Two versions of a model are two boxes with different names."""
    script = Script()
    script.model("m", version=1)
    script.call(None, "m", 0, 0, 0, 1, 0)
    script.model("m", version=2)
    script.call(None, "m", 5, 0, 0, 1, 0)

    assert ["m v1", "m v2"] == distinct_names(script.trace())
