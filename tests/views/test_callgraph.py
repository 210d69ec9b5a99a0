"""Specification of the call graph."""

import pytest

from blsnb.views.callgraph import call_graph
from blsnb.views.columns import columns_of

from .samples import Script, fail, invoice_run


def graph_of(trace):
    return call_graph(trace)


def test_boxes_are_models_in_order_of_their_first_call():
    """There is one box for each model, whatever the number of calls."""
    boxes = graph_of(invoice_run()).boxes

    assert [1, 1, 1, 1, 12, 1, 6, 1, 3] == [box.calls for box in boxes]
    assert sorted(box.first for box in boxes) == [box.first for box in boxes]


def test_a_box_sums_its_own_time_phases_and_errors():
    """Time in child calls is not the model's own time."""
    trace = invoice_run()
    columns = columns_of(trace)
    box = next(b for b in graph_of(trace).boxes if b.name == "crop_recognizer")
    calls = [span.index for span in trace.spans if span.model == box.model]

    assert (12, 1, True) == (box.calls, box.errors, box.failing)
    assert columns.own_us[calls].sum() == pytest.approx(box.own_us)
    assert columns.phases[1, calls].sum() == pytest.approx(box.phases_us[0])


def test_edges_have_the_counts_of_their_calls():
    """Count, async calls, streams, responses and failures of each pair."""
    trace = invoice_run()
    graph = graph_of(trace)
    names = {box.model: box.name for box in graph.boxes}
    edges = {(names[e.source], names[e.target]): e for e in graph.edges}

    crops = edges["invoice_pipeline", "crop_recognizer"]
    assert (12, 12, 0, 1) == (
        crops.calls,
        crops.asynchronous,
        crops.streams,
        crops.errors,
    )
    stream = edges["invoice_pipeline", "llm_extract"]
    assert (1, 1, 46) == (stream.calls, stream.streams, stream.responses)
    assert 6 == edges["rerank", "embedder"].calls
    assert 8 == len(edges)


def test_one_failure_in_many_calls_does_not_mark_a_box():
    """A model counts as failing when more than one call in twenty failed."""
    script = Script()
    script.model("m")
    calls = [script.call(None, "m", at, 0, 0, 1, 0) for at in range(20)]
    fail(calls[3], "broke")
    assert not graph_of(script.trace()).boxes[0].failing

    fail(calls[4], "broke")
    assert graph_of(script.trace()).boxes[0].failing


def test_forty_of_more_than_sixty_models_keep_their_box():
    """The rest share one box, and no call and no edge is lost."""
    script = Script()
    script.model("root")
    root = script.call(None, "root", 0, 0, 0, 9000, 0)
    for k in range(70):
        script.model(f"m{k}")
        script.call(root, f"m{k}", 10 * k, 0, 0, 1 + k, 0)
    graph = graph_of(script.trace())

    assert 41 == len(graph.boxes)
    assert "+31 models" == graph.boxes[-1].name
    assert (71, 70) == (
        sum(box.calls for box in graph.boxes),
        sum(edge.calls for edge in graph.edges),
    )
    assert graph.boxes[-1].own_us == pytest.approx(sum(range(1, 32)) + 31 * 5)
