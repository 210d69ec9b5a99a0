"""Answers that are kept: what counts as the same question, and what is counted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stage
from cells import CONFIG, cell

from blsnb import InferenceError, Server
from blsnb.engine.response_cache import CachedOutputs, ResponseCache, cache_key
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef, freeze

CACHED = f"{CONFIG}\nresponse_cache {{ enable: true }}\n"
COUNTING = cell(
    """
    stage.seen.append(x_of(request).tolist())
    if x_of(request)[0] == -2:
        raise ValueError("boom")
    if x_of(request)[0] == -1:
        error = pb_utils.TritonError("negative")
        return [pb_utils.InferenceResponse(error=error)]
    return [reply(x_of(request) * 2)]
    """
)


def x(*numbers: float) -> dict[str, np.ndarray]:
    """Return the inputs of a request."""
    return {"X": np.array(numbers, np.float32)}


def a_ref(name: str, *numbers: float) -> TensorRef:
    """Return a tensor of 4 bytes for each number."""
    array = np.array(numbers, np.float32)
    return freeze(name, array, BY_DATATYPE["FP32"])


@pytest.fixture
def server():
    """A server with a cache."""
    with Server(cache_bytes=1 << 20, hang_notice_s=0.2) as server:
        server.define("model", COUNTING, config=CACHED)
        yield server


def test_an_equal_request_is_executed_once(server):
    """Ids and parameters do not matter."""
    first = server.infer("model", x(1, 2))
    second = server.infer("model", x(1, 2), request_id="b", parameters={"a": 1})

    assert [2, 4] == first["Y"].tolist() == second["Y"].tolist()
    assert [[1, 2]] == stage.seen
    assert ["", "CACHE_HIT"] == [
        (run.trace.spans[0].flags.name or "") for run in (first, second)
    ]


def test_a_different_request_is_executed(server):
    """One bit is enough."""
    server.infer("model", x(1, 2))

    assert [2, 6] == server.infer("model", x(1, 3))["Y"].tolist()


def test_a_cached_response_is_a_success_but_not_an_inference(server):
    """Triton counts it like this."""
    for _ in range(3):
        server.infer("model", x(1))
    (row,) = server.statistics("model")["model_stats"]
    stats = row["inference_stats"]

    assert (1, 1) == (row["inference_count"], row["execution_count"])
    assert [3, 3, 1, 2, 1] == [
        stats[key]["count"]
        for key in ("success", "queue", "compute_infer", "cache_hit", "cache_miss")
    ]


@pytest.mark.parametrize(
    ("number", "why"), [(-1, "negative"), (-2, "ValueError: boom")]
)
def test_an_error_is_cached_as_an_empty_success(server, number, why):
    """The first caller gets the error, later ones no outputs, as on Triton."""
    with pytest.raises(InferenceError, match=why):
        server.infer("model", x(number))

    assert {} == dict(server.infer("model", x(number)).outputs)


def test_the_cache_survives_a_reload(server):
    """Triton's cache does not notice the reload, as a note says."""
    server.infer("model", x(1))
    server.define("model", COUNTING.replace("* 2", "* 3"), config=CACHED)
    run = server.infer("model", x(1))

    assert [2] == run["Y"].tolist()
    assert [
        "This response was cached before the model was reloaded: Triton's cache does "
        "not notice a reload either. Remove response_cache from the configuration "
        "while you change the model, or send another input."
    ] == run.notes
    assert [6] == server.infer("model", x(2))["Y"].tolist()
    assert [] == server.infer("model", x(2)).notes


def test_without_a_cache_the_setting_means_nothing():
    """The server behaves like a Triton without a cache."""
    with Server() as server:
        server.define("model", COUNTING, config=CACHED)
        server.infer("model", x(1))
        server.infer("model", x(1))

    assert [[1], [1]] == stage.seen


def test_the_least_recently_used_response_is_dropped_first():
    """A response larger than the cache is never stored."""
    cache = ResponseCache(8)
    for number in (1, 2):
        cache.insert(bytes([number]), CachedOutputs((a_ref("Y", number),), None))
    cache.find(b"\1")
    cache.insert(b"\3", CachedOutputs((a_ref("Y", 3),), None))
    cache.insert(b"\4", CachedOutputs((a_ref("Y", 4, 4, 4),), None))

    kept = [key for key in (b"\1", b"\2", b"\3", b"\4") if cache.find(key)]
    assert [b"\1", b"\3"] == kept


def test_a_response_with_an_empty_tensor_is_not_cached(server):
    """Each such request is a miss, as on Triton."""
    server.define("model", COUNTING.replace("[0] ==", ".size =="), config=CACHED)
    for _ in range(3):
        server.infer("model", x())
    (row,) = server.statistics("model")["model_stats"]

    assert 3 == row["execution_count"]
    assert 3 == row["inference_stats"]["cache_miss"]["count"]


def test_of_two_concurrent_responses_the_first_is_cached():
    """One miss counts: the second request started before the first was stored."""
    cache = ResponseCache(8)
    first, other = (CachedOutputs((a_ref("Y", number),), None) for number in (1, 2))

    assert cache.insert(b"1", first)
    assert not cache.insert(b"1", other)
    assert first is cache.find(b"1")


def test_the_metrics_page_has_hits_and_misses(server):
    """Models that enable the cache are in Triton's families."""
    server.define("other", COUNTING, config=CONFIG)
    for _ in range(3):
        server.infer("model", x(1))
    lines = [line for line in server.metrics().splitlines() if "nv_cache_num" in line]

    assert [
        "# HELP nv_cache_num_hits_per_model Number of cache hits per model",
        "# TYPE nv_cache_num_hits_per_model counter",
        'nv_cache_num_hits_per_model{model="model",version="1"} 2',
        "# HELP nv_cache_num_misses_per_model Number of cache misses per model",
        "# TYPE nv_cache_num_misses_per_model counter",
        'nv_cache_num_misses_per_model{model="model",version="1"} 1',
    ] == lines


def test_the_cache_keeps_no_more_bytes_than_its_size():
    """The least recently found outputs are dropped, as many as necessary."""
    cache = ResponseCache(12)
    one, two, three = (
        CachedOutputs((a_ref("Y", *range(count)),), None) for count in (1, 2, 3)
    )
    four = CachedOutputs((a_ref("Y", *range(4)),), None)
    assert [4, 8, 12, 16] == [each.byte_size for each in (one, two, three, four)]
    assert [True, True] == [cache.insert(b"1", one), cache.insert(b"2", two)]
    assert cache.insert(b"2", one) is False
    assert cache.insert(b"4", four) is True
    assert [one, two, None] == [cache.find(key) for key in (b"1", b"2", b"4")]
    cache.find(b"1")

    cache.insert(b"3", one)
    assert [one, None, one] == [cache.find(key) for key in (b"1", b"2", b"3")]
    cache.insert(b"5", three)
    assert [None, None, three] == [cache.find(key) for key in (b"1", b"3", b"5")]


def test_a_key_is_of_bytes_alone():
    """Names, sizes and models count, but not shapes or the order of inputs."""
    row, column = a_ref("A", 1, 2), a_ref("A", 1, 2)
    column.shape = (2, 1)
    other = a_ref("B", 3)

    assert cache_key("m", 1, [row, other]) == cache_key("m", 1, [other, column])
    keys = {
        cache_key("m", 1, [row]),
        cache_key("m", 2, [row]),
        cache_key("n", 1, [row]),
        cache_key("m", 1, [a_ref("B", 1, 2)]),
        cache_key("m", 1, [a_ref("A", 1), a_ref("B", 2)]),
    }
    assert 5 == len(keys)


QUEUED = """
max_batch_size: 4
input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
response_cache { enable: true }
dynamic_batching { default_queue_policy { default_timeout_microseconds: 1000 } }
"""
HOLDING = cell(
    """
    stage.seen.append(float(x_of(request).flat[0]))
    if x_of(request).flat[0] < 0:
        stage.events["busy"].set()
        stage.events["go"].wait(60)
    return [reply(x_of(each) * 2) for each in requests]
    """
)


def test_a_request_rejected_by_its_queue_timeout_is_not_cached(server):
    """It is executed when it is sent again."""
    server.define("queued", HOLDING, config=QUEUED)
    one = {"X": np.array([[1]], np.float32)}
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(server.infer, "queued", {"X": -one["X"]})
        assert stage.events["busy"].wait(60)
        with pytest.raises(InferenceError, match=r"Request timeout expired$"):
            server.infer("queued", one)
        stage.events["go"].set()
        busy.result(60)

    assert [[[2]]] * 2 == [server.infer("queued", one)["Y"].tolist() for _ in "12"]
    assert [-1, 1] == stage.seen
    (row,) = server.statistics("queued")["model_stats"]
    stats = row["inference_stats"]
    assert [3, 1, 1] == [
        stats[key]["count"] for key in ("success", "fail", "cache_hit")
    ]
