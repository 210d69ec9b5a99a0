from collections import defaultdict
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from .playing import Stage, config_of

IDLE_MS = 50_000


class Sent(NamedTuple):
    """A request drawn by Hypothesis."""

    pause_ms: int
    sequence: int
    start: bool
    end: bool
    takes_ms: int
    timeout_ms: int
    cancel_ms: int


def sent(troubled):
    often, seldom = st.sampled_from([False, True]), st.just(0)
    trouble = st.one_of(seldom, st.integers(1, 60)) if troubled else seldom
    return st.builds(
        Sent,
        st.integers(0, 20),
        st.integers(1, 6),
        often,
        st.sampled_from([False, False, True]),
        st.integers(1, 40),
        trouble,
        trouble,
    )


class Scene(NamedTuple):
    """A model, its instances and its requests."""

    oldest: int
    batch: int
    delay_ms: int
    instances: int
    requests: list[Sent]

    @property
    def slots(self):
        return self.oldest or max(1, self.batch)

    def play(self):
        delay = f"max_queue_delay_microseconds: {self.delay_ms * 1000}"
        strategy = (
            f"oldest {{ max_candidate_sequences: {self.oldest} {delay} }}"
            if self.oldest
            else f"direct {{ minimum_slot_utilization: 0.6 {delay} }}"
        )
        idle = f"max_sequence_idle_microseconds: {IDLE_MS * 1000}"
        stage = Stage(config_of(f"{idle} {strategy}", self.batch), self.instances)
        ms = 0
        for place, each in enumerate(self.requests):
            ms += each.pause_ms
            stage.send(
                ms,
                str(place),
                each.sequence,
                start=each.start,
                end=each.end,
                takes=each.takes_ms,
                timeout_ms=each.timeout_ms,
            )
            if each.cancel_ms:
                stage.cancel(ms + each.cancel_ms, str(place))
        # Those that never end lose their slots one after the other.
        return stage.play(100 * IDLE_MS)


def scenes(troubled):
    return st.builds(
        Scene,
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from([0, 15]),
        st.integers(1, 3),
        st.lists(sent(troubled), max_size=25),
    )


def lives(stage):
    """Return the sequence of each request: an id, up to one of its ends."""
    ends = defaultdict(int)
    names = {}
    for name, played in stage.played.items():
        names[name] = (played.sequence, ends[played.sequence])
        refused = played.answers[0].startswith("INVALID_ARG")
        ends[played.sequence] += played.flags >= 2 and not refused
    return names


def executed(stage):
    """Yield each execution of a request: its call, its slot and its name."""
    for call in stage.calls:
        for place, name in enumerate(call.names):
            if name != "-":
                yield call, place, name


@given(scenes(troubled=True))
def test_every_request_is_answered_once_and_nothing_stays(scene):
    """It is done, refused, expired or cancelled; only done ones were executed."""
    stage = scene.play()

    assert all(1 == len(played.answers) for played in stage.played.values())
    done = [name for name in stage.played if "done" == stage.outcome_of(name)]
    assert sorted(done, key=int) == sorted(
        (name for _, _, name in executed(stage)), key=int
    )
    assert 0 == len(stage.batcher)
    assert stage.batcher.decide(stage.now_ns, range(scene.instances)).wake_ns is None


@given(scenes(troubled=True))
def test_a_sequence_runs_in_order_and_one_at_a_time(scene):
    """Cancelled and expired requests do not change this."""
    stage = scene.play()
    life_of = lives(stage)
    ran, over_ms = defaultdict(list), defaultdict(float)
    for call, _, name in executed(stage):
        life = life_of[name]
        assert over_ms[life] <= call.at_ms
        takes = (each.request.takes_ms for each in call.batch.members if each)
        over_ms[life] = call.at_ms + max(takes)
        ran[life].append(int(name))

    assert all(sorted(names) == names for names in ran.values())


@given(scenes(troubled=False))
def test_a_sequence_keeps_its_instance_and_its_slot(scene):
    """With `direct` it also keeps its place in the batch."""
    stage = scene.play()
    life_of = lives(stage)
    places = defaultdict(set)
    for call, place, name in executed(stage):
        places[life_of[name]].add((call.instance, 0 if scene.oldest else place))

    # Only one that began anew after all were idle may have moved.
    assert all(1 == len(each) for each in places.values())


@given(scenes(troubled=False))
def test_slots_and_batch_sizes_are_never_exceeded(scene):
    """A null request is never last, and a call has one request of each sequence."""
    stage = scene.play()
    life_of = lives(stage)
    open_lives = [set() for _ in range(scene.instances)]
    for call in stage.calls:
        mine = [life_of[name] for name in call.names if name != "-"]
        assert len(call.names) <= max(1, scene.batch)
        assert len(set(mine)) == len(mine)
        assert "-" != call.names[-1]
        assert not (scene.oldest and "-" in call.names)
        if call.at_ms < IDLE_MS:
            open_lives[call.instance].update(mine)
            assert len(open_lives[call.instance]) <= scene.slots
        for name in call.names:
            if name != "-" and stage.played[name].flags >= 2:
                open_lives[call.instance].discard(life_of[name])


@given(scenes(troubled=False))
def test_waiting_requests_are_left_out_with_a_reason(scene):
    """Members of the batch are not listed, and no request is listed twice."""
    stage = scene.play()
    for call in stage.calls:
        left = [queued.request.name for queued, _ in call.batch.left_out]
        assert len(set(left)) == len(left)
        assert not set(left) & set(call.names)
        assert all(reason.words for _, reason in call.batch.left_out)
        assert call.batch.sent_because.words
