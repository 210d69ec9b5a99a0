"""Specification of the graph in the panel."""

import pytest
from waiting import until

from blsnb.model_graph.picture import draw

CALLER = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        pb_utils.InferenceRequest(model_name="gone", requested_output_names=[]).exec()
        return []
"""


def answer(page, **about):
    page.act("graph", **about)
    assert until(lambda: page.of("answer"))
    return page.answer


def test_the_graph_has_a_drawing_a_place_for_each_model_and_its_findings(server, page):
    """A target that no model has is drawn, and cannot be opened."""
    server.define("caller", CALLER)
    found = answer(page, width=300)
    graph, [data] = found["graph"], found["buffers"]
    offset, size = graph["svg"]

    drawing = data[offset : offset + size].decode()
    assert draw(server.graph(), 300, has_legend=False).svg == drawing
    assert "gone" in drawing
    assert 300 == graph["size"][0]
    assert ["caller"] == [name for name, _, _ in graph["places"]]
    assert [("caller", True)] == [(each[0], each[3]) for each in graph["findings"]]
    assert (0, 0) == (graph["others"], graph["unlisted"])


@pytest.mark.parametrize("width", [None, "300", 3, 1e9, True])
def test_an_invalid_width_is_refused(server, page, width):
    """A drawing costs time and memory by its size."""
    assert "invalid" == answer(page, width=width)["error"]["code"]
