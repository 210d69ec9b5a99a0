"""Specification of where the boxes of a call graph stand."""

import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from blsnb.views.callgraph import Box, CallGraph, Edge, call_graph
from blsnb.views.pictures.layout import BOX_HEIGHT, BOX_WIDTH, lay_out, side_by_side

from ..samples import invoice_run

WIDTH = 960.0
graphs = st.integers(1, 40).flatmap(
    lambda size: st.builds(
        lambda pairs: graph(size, pairs),
        st.sets(
            st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=60
        ),
    )
)


def graph(size, pairs):
    boxes = [Box(k, f"m{k}", "cpu", 1, 0, 1.0, (0, 0, 1, 0), k) for k in range(size)]
    edges = [Edge(a, b, 1, 0, 0, 0, 0) for a, b in sorted(pairs)]
    return CallGraph(tuple(boxes), tuple(edges))


def check_places(layout):
    """Check that no two boxes overlap, and that none leaves the picture."""
    for one, other in itertools.combinations(layout.places.values(), 2):
        apart = abs(one.x - other.x) >= BOX_WIDTH - 1e-6
        assert apart or abs(one.y - other.y) >= BOX_HEIGHT
    for place in layout.places.values():
        assert BOX_WIDTH / 2 <= place.x <= WIDTH - BOX_WIDTH / 2
        assert place.y + BOX_HEIGHT <= layout.height + 1e-6


@given(graphs)
def test_no_two_boxes_overlap_and_none_leaves_the_picture(drawn):
    """In any graph, cyclic ones and wide ranks included."""
    check_places(lay_out(drawn, WIDTH))


def shifted(drawn, start):
    """Return a graph with other numbers of its boxes."""
    return CallGraph(
        tuple(replace(box, model=box.model + start) for box in drawn.boxes),
        tuple(
            replace(edge, source=edge.source + start, target=edge.target + start)
            for edge in drawn.edges
        ),
    )


@given(st.lists(graphs, min_size=1, max_size=8))
def test_graphs_side_by_side_do_not_overlap_either(drawn):
    """Each keeps its ranks."""
    numbered = [shifted(each, 100 * number) for number, each in enumerate(drawn)]
    layout = side_by_side(numbered, WIDTH)

    assert sum(len(each.boxes) for each in drawn) == len(layout.places)
    check_places(layout)
    for edge in itertools.chain(*(each.edges for each in numbered)):
        if (edge.source, edge.target) not in layout.upward:
            assert layout.places[edge.source].bottom < layout.places[edge.target].top


@given(graphs)
def test_callers_are_above_callees(drawn):
    """Every edge points downwards, except those that close a cycle."""
    layout = lay_out(drawn, WIDTH)

    for edge in drawn.edges:
        if (edge.source, edge.target) not in layout.upward:
            assert layout.places[edge.source].bottom < layout.places[edge.target].top


def boxes_behind(layout, pair):
    """Return the boxes that an edge between two others meets on its way."""
    met = []
    for (x, start), (end_x, end) in itertools.pairwise(layout.routes[pair]):
        upper, lower = sorted((start, end))
        met += [
            model
            for model, place in layout.places.items()
            if model not in pair
            and (x != end_x or abs(place.x - x) < BOX_WIDTH / 2 + 1)
            and place.y < lower
            and upper < place.y + BOX_HEIGHT
        ]
    return met


@given(graphs)
def test_no_edge_passes_behind_a_box(drawn):
    """It passes beside each between its ends, upwards as well."""
    layout = lay_out(drawn, WIDTH)

    met = {pair: boxes_behind(layout, pair) for pair in layout.routes}
    assert {pair: [] for pair in met} == met
    pairs = {(edge.source, edge.target) for edge in drawn.edges}
    assert {pair for pair in pairs if pair[0] != pair[1]} == met.keys()


def test_edges_that_pass_a_box_together_do_not_hide_each_other():
    """Each has its own way, unless the line is full."""
    passing = {(0, 1), (1, 2), (1, 3), (0, 2), (0, 3)}
    routes = lay_out(graph(4, passing), WIDTH).routes
    ways = {routes[0, model][1][0] for model in (2, 3)}

    assert 2 == len(ways)


@given(graphs)
def test_the_layout_of_a_graph_is_deterministic(drawn):
    """A picture changes only when the run does."""
    assert lay_out(drawn, WIDTH) == lay_out(drawn, WIDTH)


def test_siblings_are_in_order_of_their_first_call():
    """The graph reads in the same direction as the timeline below it."""
    trace = invoice_run()
    drawn = call_graph(trace)
    layout = lay_out(drawn, WIDTH)
    siblings = [
        box for box in drawn.boxes if box.name not in ("invoice_pipeline", "embedder")
    ]

    xs = [layout.places[box.model].x for box in siblings]
    assert sorted(xs) == xs


def test_a_wide_rank_zig_zags_over_two_lines():
    """Seven siblings do not fit side by side, six do."""

    def lines(siblings):
        drawn = graph(siblings + 1, {(0, k) for k in range(1, siblings + 1)})
        places = lay_out(drawn, WIDTH).places
        return len({place.y for model, place in places.items() if model})

    assert (1, 2) == (lines(6), lines(7))


def test_recursion_is_an_edge_that_points_up():
    """A model that calls itself closes a cycle of one."""
    assert {(0, 0)} == lay_out(graph(1, {(0, 0)}), WIDTH).upward


def test_a_graph_without_models_has_no_height():
    """An empty trace has a graph without boxes."""
    assert 0.0 == lay_out(graph(0, set()), WIDTH).height
