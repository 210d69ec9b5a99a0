import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blsnb.engine.scheduling.rate_limiter import (
    Needs,
    RateLimiter,
    Resource,
    ResourceRefused,
)

R = Resource("R", None)


def needs(priority=0, **counts):
    return Needs({Resource(name, None): n for name, n in counts.items()}, priority)


class Play:
    """Executions that last until the test ends them; the first letters run."""

    def __init__(self, instances, given=()):
        self.limiter = RateLimiter(dict(given))
        self.limiter.add(instances)
        self.free = set(instances)
        self.waiting = []
        self.running = []
        self.order = []

    def ask(self, *instances):
        for instance in instances:
            self.waiting.append(instance)
            self._stage(instance)

    def _stage(self, instance):
        if instance in self.free and instance in self.waiting:
            self.free.remove(instance)
            self.waiting.remove(instance)
            self._begin(self.limiter.stage((instance, len(self.order)), instance))

    def _begin(self, executions):
        self.running += executions
        self.order += [instance for instance, _ in executions]

    def end(self):
        """End the execution that has run for the longest time."""
        execution = self.running.pop(0)
        instance = execution[0]
        self.free.add(instance)
        # A model's next request is ready as soon as its instance is free.
        waits = instance in self.waiting
        if waits:
            self.free.remove(instance)
            self.waiting.remove(instance)
            again = (instance, f"after {execution[1]}, {len(self.order)}")
            self._begin(self.limiter.stage(again, instance))
        self._begin(self.limiter.release(execution))

    def all(self):
        while self.running:
            self.end()
        return "".join(self.order)


# What a real server did, in the order of the requests; each order continues the
# previous one, since executions are counted.
TURNS = {
    "priority 2 gets half the turns": (
        {"a": needs(R=1), "b": needs(2, R=1)},
        [
            ("aabab", "aabab"),
            ("aaaaaabbbbbb", "aaabaababbbb"),
            ("bbbbaaaa", "baaaabbb"),
        ],
    ),
    "priority 3 gets a third": (
        {"a": needs(1, R=1), "b": needs(3, R=1)},
        [("aaaaaaaabbbbbb", "aaaabaaababbbb")],
    ),
}


@pytest.mark.parametrize(("instances", "orders"), TURNS.values(), ids=TURNS)
def test_turns_go_by_executions_and_priority(instances, orders):
    """The order is that of the real server, whose counts begin with 2."""
    play = Play(instances)
    for asked, begun in orders:
        play.order.clear()
        play.ask(*asked)
        assert begun == play.all()


def test_one_begins_for_each_event():
    """Triton also starts one only, although two would fit."""
    play = Play({"a": needs(R=2), "b": needs(R=1), "c": needs(R=1)})
    play.ask("a", "b", "c")
    assert ["a"] == play.order
    play.end()
    assert ["a", "b"] == play.order
    play.end()
    assert ["a", "b", "c"] == play.order


def test_an_instance_that_is_ready_again_counts_as_another_event():
    """Then two begin, as on the real server."""
    play = Play({"a": needs(R=2), "b": needs(R=1), "c": needs(R=1)})
    play.ask("a", "a", "b", "c")
    play.end()

    assert ["a", "b", "c"] == play.order


def test_the_first_execution_is_never_overtaken():
    """The needs of the others do not matter."""
    play = Play({"a": needs(R=1), "b": needs(R=1), "c": needs(Q=1), "d": needs()})
    play.ask("a", "b", "c", "d")
    assert ["a"] == play.order
    assert [("a", 0)] == play.limiter.resource_holders
    assert "abcd" == play.all()


def test_executions_without_needs_begin_at_once():
    """Any number of them can begin."""
    play = Play({"a": needs(), "b": needs(), "c": needs()})
    play.ask("a", "b", "c")

    assert ["a", "b", "c"] == play.order
    assert [] == play.limiter.resource_holders


def test_without_counts_of_the_server_the_most_demanding_instance_decides():
    """Its removal lowers the limit."""
    play = Play({"a": needs(R=1), "b": needs(R=1), "big": needs(R=2)})
    play.ask("a", "b")
    assert ["a", "b"] == play.order
    play.all()

    play.limiter.remove(["big"])
    play.order.clear()
    play.ask("a", "b")
    assert ["a"] == play.order


def test_a_removed_instance_completes_its_executions():
    """Staged executions complete, too, before it is forgotten."""
    play = Play({"a": needs(R=2), "b": needs(R=1)})
    play.ask("a")
    play.ask("a")
    play.limiter.remove(["a"])
    play.ask("b")
    assert "aba" == play.all()

    assert {R: 1} == play.limiter._limits


LIMITS = {
    "for all devices": ({None: 3}, {None: 3, 0: 3, 1: 3}),
    "for one device": ({1: 3}, {None: 3, 0: 0, 1: 3}),
    "the larger one": ({None: 3, 0: 5}, {None: 5, 0: 5, 1: 3}),
    "not the smaller one": ({None: 3, 0: 1}, {None: 3, 0: 3, 1: 3}),
    "not named": ({}, {None: 0, 0: 0}),
}


@pytest.mark.parametrize(("counts", "limits"), LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("extra", [0, 1])
def test_the_server_sets_the_counts(counts, limits, extra):
    """For a global resource the largest number applies."""
    for device, limit in limits.items():
        limiter = RateLimiter({"R": counts, "other": {None: 1}})
        wanted = {"i": Needs({Resource("R", device): limit + extra})}
        if not extra:
            limiter.add(wanted)
            continue
        with pytest.raises(ResourceRefused) as caught:
            limiter.add(wanted)
        assert (
            f'Resource count for "R" is limited to {limit} which will prevent '
            "scheduling of one or more model instances, the minimum required count is "
            f"{limit + 1}" == str(caught.value)
        )


def test_a_refusal_leaves_nothing():
    """Other instances can be added afterwards."""
    limiter = RateLimiter({})
    limiter.add({"a": needs(R=1)})
    with pytest.raises(ResourceRefused) as caught:
        limiter.add({"b": Needs({Resource("R", 0): 1})})
    assert (
        'Resource "R" is present as both global and device-specific resource in the '
        "model configuration." == str(caught.value)
    )

    limiter.add({"c": needs(R=1)})
    assert ["first"] == limiter.stage("first", "c")


def test_too_little_is_found_before_a_contradiction():
    """The real server reports it first, too."""
    both = {"i": Needs({R: 1, Resource("R", 0): 2})}
    for count, text in ((1, "is limited to 1"), (2, "is present as both")):
        with pytest.raises(ResourceRefused, match=text):
            RateLimiter({"R": {None: count}}).add(both)


RESOURCES = st.dictionaries(
    st.builds(
        lambda name, device: Resource(f"{name}{device}", device),
        st.sampled_from("PQ"),
        st.sampled_from([None, 0, 1]),
    ),
    st.integers(0, 3),
    max_size=3,
)


@settings(max_examples=200)
@given(
    st.lists(st.builds(Needs, RESOURCES, st.integers(0, 3)), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=40),
)
def test_resources_are_never_exceeded_and_no_execution_starves(instances, steps):
    """All executions begin, for any order of starts and ends."""
    named = dict(enumerate(instances))
    play = Play(named)
    for number, ends in steps:
        play.ask(number % len(instances))
        if ends and play.running:
            play.end()
        _check(play, named)
    asked = len(steps)
    while play.running:
        play.end()
        _check(play, named)

    assert asked == len(play.order)


def _check(play, named):
    most, used = {}, {}
    for each in named.values():
        for resource, count in each.resources.items():
            most[resource] = max(count, most.get(resource, 0))
    for instance, _ in play.running:
        for resource, count in named[instance].resources.items():
            used[resource] = used.get(resource, 0) + count
    assert all(count <= most[resource] for resource, count in used.items())
    waits = play.waiting or play.limiter._staged
    assert play.running or not waits
