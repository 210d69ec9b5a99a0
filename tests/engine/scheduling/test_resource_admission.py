"""Rate limits: instances of all models wait for resources in order of their ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
import stage
from asserting import every
from cells import CONFIG, DOUBLE, FINAL, calling, cell

from blsnb import ModelLoadError, Run, Server, WouldHang
from blsnb.engine.scheduling.rate_limiter import Needs, Resource
from blsnb.engine.scheduling.resource_admission import (
    ResourceAdmission,
    instance_needs,
)
from blsnb.model.config import parse_pbtxt
from blsnb.model.normalization import normalise

from ..pools import Pools

X = {"X": np.array([1, 2], np.float32)}
BATCH = {"X": np.array([[1]], np.float32)}
TELL = cell(
    """
    stage.seen.append(f"{NAME}{len(requests)}")
    if stage.values.pop(f"hold {NAME}", None):
        stage.events["busy"].set()
        stage.events["go"].wait(60)
    return [reply(x_of(each)) for each in requests]
    """
)


def group(priority: int = 0, count: int = 1, everywhere: bool = True, **counts: int):
    """Return an instance group that needs resources."""
    word = str(everywhere).lower()
    resources = "".join(
        f'resources {{ name: "{name}" count: {number} global: {word} }}'
        for name, number in counts.items()
    )
    return (
        f"instance_group {{ kind: KIND_CPU count: {count} rate_limiter {{ {resources} "
        f"priority: {priority} }} }}\n"
    )


class Limited:
    """A server that limits rates, and its clients."""

    def __init__(self, pool: ThreadPoolExecutor, **resources: object) -> None:
        self.server = Server(
            rate_limit="execution_count", rate_limit_resources=resources
        )
        self._pool = pool

    def define(self, name: str, *groups: str, config: str = CONFIG) -> None:
        source = TELL.replace("NAME", f'"{name}"').replace('{"', "{'")
        source = source.replace('"}', "'}")
        self.server.define(name, source, config=config + "".join(groups))

    def hold(self, name: str, inputs=X) -> Future[Run]:
        """Keep an instance busy until ``stage.events["go"]`` is set."""
        stage.values[f"hold {name}"] = True
        answer = self._pool.submit(self.server.infer, name, inputs)
        assert stage.events["busy"].wait(60)
        return answer

    def ask(self, name: str, inputs=X) -> Future[Run]:
        """Send a request, and return once it waits or has completed."""
        waiting = self.waiting
        answer = self._pool.submit(self.server.infer, name, inputs)
        while self.waiting == waiting and not answer.done():
            pass
        return answer

    @property
    def waiting(self) -> int:
        return sum(
            int(line.split()[-1])
            for line in self.server.metrics().splitlines()
            if line.startswith("nv_inference_pending_request_count{")
        )


@pytest.fixture
def limited() -> Iterator[type[Limited]]:
    """Return a function that makes such servers."""
    made: list[Limited] = []
    with ThreadPoolExecutor(16) as pool:

        def make(**resources):
            made.append(Limited(pool, **resources))
            return made[-1]

        yield make
        stage.events["go"].set()
    for each in made:
        each.server.close()
    stage.clear()


def test_models_with_one_resource_take_turns(limited):
    """Priority 2 executes half as often, as on the real server."""
    models = limited()
    models.define("a", group(R=1))
    models.define("b", group(2, R=1))

    answers = [models.hold("a"), *(models.ask(name) for name in "abab")]
    assert 4 == models.waiting
    stage.events["go"].set()

    assert [[1, 2]] * 5 == [answer.result(60)["Y"].tolist() for answer in answers]
    assert ["a1", "a1", "b1", "a1", "b1"] == stage.seen


def test_instances_execute_at_the_same_time_while_there_is_enough(limited):
    """Here two of three execute."""
    models = limited(R=2)
    models.define("a", group(count=3, R=1))
    held = models.hold("a")

    assert [1, 2] == models.server.infer("a", X)["Y"].tolist()
    stage.events["busy"].clear()
    other = models.hold("a")
    late = models.ask("a")
    assert not late.done()
    stage.events["go"].set()

    assert all(answer.result(60) for answer in (held, other, late))


def test_a_batch_grows_until_it_may_begin(limited):
    """Another model has the resource."""
    models = limited()
    models.define("a", group(R=1))
    batching = """
        max_batch_size: 8
        input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
        output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
        dynamic_batching { }
    """
    models.define("b", group(R=1), config=batching)

    answers = [models.hold("a"), *(models.ask("b", BATCH) for _ in range(5))]
    stage.events["go"].set()

    assert every(answer.result(60) for answer in answers)
    assert ["a1", "b5"] == stage.seen


def test_a_batcher_with_priorities_waits_for_resources_too(limited):
    """It forms no batches ahead, and all requests complete."""
    models = limited()
    models.define("a", group(R=1))
    batching = """
        max_batch_size: 8
        input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
        output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
        dynamic_batching { priority_levels: 2 default_priority_level: 2 }
    """
    models.define("b", group(R=1), config=batching)

    answers = [models.hold("a"), *(models.ask("b", BATCH) for _ in range(5))]
    stage.events["go"].set()

    assert every(answer.result(60) for answer in answers)
    assert 5 == sum(int(seen[1:]) for seen in stage.seen if seen[0] == "b")


def test_sequences_wait_for_resources_too(limited):
    """The queue chooses the request, the limiter its time."""
    models = limited()
    models.define("a", group(R=1))
    models.define("s", group(R=1), config=f"{CONFIG} sequence_batching {{ }} ")
    held = models.hold("a")
    wait = models._pool.submit(
        models.server.infer, "s", X, correlation_id=7, sequence_start=True
    )
    while not models.waiting:
        pass
    assert ["a1"] == stage.seen
    stage.events["go"].set()

    assert held.result(60)
    assert wait.result(60)
    assert ["a1", "s1"] == stage.seen


def test_a_decoupled_model_releases_its_resources_when_execute_returns(limited):
    """It continues to send responses."""
    models = limited()
    source = cell(
        f"""
        sender = request.get_response_sender()
        sender.send(reply(x_of(request)))
        sender.send(flags={FINAL})
        """
    )
    decoupled = "model_transaction_policy { decoupled: true }"
    models.server.define("d", source, config=f"{CONFIG} {decoupled} {group(R=1)}")
    models.define("a", group(R=1))
    stream = models.server.stream("d", X)

    assert [[1, 2]] == [each["Y"].tolist() for each in stream if each.outputs]
    assert [1, 2] == models.server.infer("a", X)["Y"].tolist()


def test_a_model_without_resources_needs_none(limited):
    """It waits only if another model is first in the queue."""
    models = limited()
    models.define("a", group(R=1))
    models.define("b", group(R=1))
    models.define("free")
    held = models.hold("a")

    assert [1, 2] == models.server.infer("free", X)["Y"].tolist()
    first = models.ask("b")
    behind = models.ask("free")
    assert not behind.done()
    stage.events["go"].set()

    assert all(answer.result(60) for answer in (held, first, behind))


def test_a_failing_execution_releases_its_resources(limited):
    """They are released as after a success."""
    models = limited()
    models.server.define("bad", cell("1 / 0"), config=CONFIG + group(R=1))
    for _ in range(2):
        with pytest.raises(Exception, match="ZeroDivisionError"):
            models.server.infer("bad", X)


def test_a_call_that_needs_its_callers_resource_would_hang(limited):
    """The error contains the chain of waiting calls."""
    models = limited()
    models.server.define("double", DOUBLE, config=CONFIG + group(R=1))
    models.server.define("caller", calling("double"), config=CONFIG + group(R=1))

    with pytest.raises(WouldHang) as caught:
        models.server.infer("caller", X)

    assert "resources of caller_0_0" in str(caught.value)
    assert "rate_limit_resources" in str(caught.value)
    assert [2, 4] == models.server.infer("double", X)["Y"].tolist()


def test_a_call_behind_an_execution_that_waits_for_its_caller_would_hang(limited):
    """No execution overtakes the first, even if it needs no resources."""
    models = limited()
    models.define("a", group(R=1))
    models.server.define("double", DOUBLE, config=CONFIG)
    source = cell(
        """
        stage.events["busy"].set()
        stage.events["go"].wait(60)
        return [reply(answer_of(ask("double", request).exec()))]
        """
    )
    models.server.define("caller", source, config=CONFIG + group(R=1))
    hung = models._pool.submit(models.server.infer, "caller", X)
    assert stage.events["busy"].wait(60)
    waits = models.ask("a")
    stage.events["go"].set()

    with pytest.raises(WouldHang):
        hung.result(60)
    assert [1, 2] == waits.result(60)["Y"].tolist()


def test_a_call_that_needs_other_resources_works(limited):
    """The caller keeps its resources."""
    models = limited()
    models.server.define("double", DOUBLE, config=CONFIG + group(Q=1))
    models.server.define("caller", calling("double"), config=CONFIG + group(R=1))

    assert [2, 4] == models.server.infer("caller", X)["Y"].tolist()


REFUSED = {
    "short": (
        group(R=4),
        'Resource count for "R" is limited to 1 which will prevent scheduling of one '
        "or more model instances, the minimum required count is 4",
    ),
    "two places": (
        group(R=1) + group(everywhere=False, R=1),
        'Resource "R" is present as both global and device-specific resource in the '
        "model configuration.",
    ),
}


@pytest.mark.parametrize(("groups", "text"), REFUSED.values(), ids=REFUSED)
def test_a_model_that_could_never_execute_does_not_load(limited, groups, text):
    """The create stage fails with Triton's text; other models load."""
    models = limited(R={0: 1})
    with pytest.raises(ModelLoadError) as caught:
        models.define("m", groups)
    assert (
        f"load failed for model 'm': version 1 is at UNAVAILABLE state: Invalid "
        f"argument: {text};\n" == caught.value.message
    )

    models.define("a", group(R=1))
    assert [1, 2] == models.server.infer("a", X)["Y"].tolist()


def test_a_model_that_is_unloaded_or_loaded_anew_leaves_nothing(limited):
    """Its resources no longer count."""
    models = limited()
    models.define("m", group(R=1))
    models.define("m", group(R=1))
    models.server.unload("m")
    models.define("n", group(everywhere=False, R=1))

    assert [1, 2] == models.server.infer("n", X)["Y"].tolist()


def test_each_instance_of_a_group_needs_its_resources():
    """A device has its own, and of a resource listed twice the larger count applies."""
    text = f"""{group(R=1, count=2)}
    instance_group {{ kind: KIND_GPU count: 2 gpus: [ 0, 1 ] rate_limiter {{
      resources {{ name: "R" count: 2 }} resources {{ name: "S" count: 1 global: true }}
      resources {{ name: "R" count: 3 }} resources {{ name: "R" count: 1 }}
      resources {{ name: "T" count: 0 global: true }}
      priority: 4 }} }}"""
    config = normalise(parse_pbtxt(text), model_name="m", gpu_count=2)

    shared = {Resource("S", None): 1, Resource("T", None): 0}
    assert [
        *[Needs({Resource("R", None): 1}, 0)] * 2,
        *[Needs({Resource("R", gpu): 3, **shared}, 4) for gpu in (0, 1)] * 2,
    ] == instance_needs(config)


def test_the_instances_of_a_model_leave_once():
    """Each of its last executions may say that it is over."""
    config = normalise(parse_pbtxt(group(R=1, count=2)), model_name="m")
    limits = ResourceAdmission({})
    admission = limits.enter(config, Pools().pool("a", "b"))

    for _ in range(2):
        admission.leave()
    limits.enter(config, Pools().pool("a", "b"))


def test_a_warm_up_needs_no_resources(limited):
    """Holders of resources cannot delay it."""
    models = limited()
    models.define("a", group(R=1))
    held = models.hold("a")
    sample = (
        'model_warmup { name: "w" batch_size: 1 inputs { key: "X" value { '
        "data_type: TYPE_FP32 dims: [ 3 ] zero_data: true } } }"
    )
    models.define("warm", group(R=1), sample)
    stage.events["go"].set()

    assert held.result(60)
    assert ["a1", "warm1"] == stage.seen


def test_without_a_limit_such_settings_are_ignored(server):
    """There is no contradiction, as on Triton."""
    both = group(R=1) + group(everywhere=False, R=1)
    server.define("m", DOUBLE, config=CONFIG + both)

    assert [2, 4] == server.infer("m", X)["Y"].tolist()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"rate_limit": "bogus"},
            "rate_limit='bogus' is not valid; expected 'off' or 'execution_count'",
        ),
        *(
            (
                {"rate_limit_resources": {"R": given}},
                f"rate_limit_resources['R']={given!r} is not valid; expected an "
                "integer of at least 0, or such integers by device",
            )
            for given in (-1, True, {0: "2"}, {0: -1}, {"x": 1}, {-1: 1})
        ),
    ],
)
def test_invalid_settings_are_errors(settings, text):
    """They fail when the server is made."""
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        Server(**settings)
