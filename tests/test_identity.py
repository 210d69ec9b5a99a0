"""A call has one identity: later runs neither renumber it nor change its values."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb import Run, Server
from blsnb.errors import TraceError
from blsnb.trace.dropped import find_call
from blsnb.views.documents.buffer import Buffer
from blsnb.views.live import queries

CALLS, LATER = 10_000, 1_500
LOOP = cell("""
for k in range(int(x_of(request)[0])):
    values = pb_utils.Tensor("X", np.full(3, k, np.float32))
    pb_utils.InferenceRequest(
        model_name="double", inputs=[values], requested_output_names=["Y"]
    ).exec()
return [reply(x_of(request))]
""")


@pytest.fixture(scope="module")
def server():
    """Serve a model that calls another one a given number of times."""
    with Server() as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("loop", LOOP, config=CONFIG)
        yield server


@pytest.fixture(scope="module")
def big(server: Server) -> Run:
    """A run of 10,000 BLS calls, which a later run has trimmed."""
    big = server.infer("loop", {"X": [CALLS]})
    before = big.trace
    assert (CALLS + 1, 8000) == (len(before.spans), before.spans[8000].id)
    server.infer("loop", {"X": [LATER]})
    assert len(big.trace.spans) < CALLS
    return big


def test_a_call_is_replayed_by_its_id_after_later_runs_trimmed_its_run(big):
    """Call k sent full(3, k - 1), whatever its position is now."""
    assert [13998] * 3 == big.replay(7000).this["Y"].tolist()
    assert [7000, 7000] == [
        find_call(big.trace, 7000).id,
        big.replay(7000).baseline.trace.spans[0].id,
    ]


def test_a_dropped_call_is_reported_with_the_limit_that_dropped_it(big):
    """Another call's values are never shown in its place."""
    dropped = r"call 5000 is no longer kept: keep_calls=10200 .*run\.keep\(\)"
    with pytest.raises(TraceError, match=dropped):
        big.replay(5000)
    with pytest.raises(TraceError, match=r"no call 10001; its calls are 0 to 10000"):
        big.replay(CALLS + 1)


def test_a_page_made_before_the_trim_receives_the_values_of_the_call_it_names(big):
    """Or the message that the call is no longer kept."""
    query = {"v": 1, "type": "tensors", "id": 1, "run": "r"}
    answer = queries.answer_about(
        lambda _: big.trace, {**query, "call": 8000}, Buffer()
    )
    assert ["15998.0"] * 3 == answer["tensors"][1]["preview"]["values"]
    with pytest.raises(queries.QueryError, match="call 5000 is no longer kept"):
        queries.answer_about(lambda _: big.trace, {**query, "call": 5000}, Buffer())
