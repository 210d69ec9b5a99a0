import pytest

from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.scheduling.sequences.backlog import NEVER_NS, Backlog
from blsnb.engine.scheduling.sequences.batcher import SequenceBatcher
from blsnb.engine.scheduling.sequences.rules import SequenceRefused
from blsnb.engine.scheduling.sequences.slots import SequenceRequest
from blsnb.request_fields import SEQUENCE_START

from ..playing import MS, Stage, config_of

ONE_SLOT = config_of("direct {}", batch=1)
IDLE = config_of("max_sequence_idle_microseconds: 200000 direct {}", batch=1)
OLDEST_IDLE = config_of(
    "max_sequence_idle_microseconds: 200000 oldest { max_candidate_sequences: 1 }",
    batch=1,
)
EXPIRED = "UNAVAILABLE timeout of the corresponding sequence has been expired"


def no_start(sequence):
    return (
        f"INVALID_ARG inference request for sequence {sequence} to model 'm' must "
        "specify the START flag on the first request of the sequence"
    )


def test_sequences_without_a_slot_wait_in_the_order_of_their_starts():
    """Their later requests queue after their starts."""
    stage = Stage(ONE_SLOT)
    stage.send(0, "a1", 1, start=True, takes=50)
    stage.send(4, "b1", 2, start=True)
    stage.send(8, "c1", 3, start=True)
    stage.send(12, "c2", 3, end=True)
    stage.send(16, "b2", 2)
    stage.send(100, "a2", 1, end=True, takes=100)
    stage.send(150, "b3", 2, end=True)
    stage.send(160, "d1", 4, start=True, end=True)
    stage.play()

    assert ["0: a1", "0: a2", "0: b1", "0: b2", "0: b3", "0: c1", "0: c2", "0: d1"] == (
        stage.groups()
    )


def test_an_id_may_wait_twice_when_it_ended_in_between():
    """After its own end the id is a new sequence."""
    stage = Stage(ONE_SLOT)
    stage.send(0, "a1", 1, start=True)
    stage.send(1, "b1", 2, start=True)
    stage.send(2, "b2", 2, end=True, takes=50)
    stage.send(3, "new", 2, start=True)
    stage.send(4, "more", 2)
    stage.send(9, "a2", 1, end=True, takes=50)
    stage.send(20, "last", 2)
    stage.play(500)

    assert ["b1", "b2", "new", "more", "last"] == [
        call.names[0] for call in stage.calls[2:]
    ]
    assert [] == stage.log


def test_a_waiting_sequence_fails_whole_at_the_timeout_of_a_request():
    """It fails at exactly that time, and must start again."""
    stage = Stage(ONE_SLOT)
    stage.send(0, "a1", 1, start=True)
    stage.send(10, "b1", 2, start=True, timeout_ms=100)
    stage.send(14, "b2", 2)
    stage.send(180, "b3", 2)
    stage.send(200, "a2", 1, end=True)
    stage.play(110)
    assert [EXPIRED, EXPIRED] == [stage.outcome_of("b1"), stage.outcome_of("b2")]

    stage.play()
    assert no_start(2) == stage.outcome_of("b3")
    assert ["0: a1", "0: a2"] == stage.groups()


def test_the_shortest_timeout_counts_from_its_own_arrival():
    """A later request may have the shortest one."""
    stage = Stage(ONE_SLOT)
    stage.send(0, "a1", 1, start=True)
    stage.send(10, "c1", 3, start=True, timeout_ms=500)
    stage.send(30, "c2", 3, timeout_ms=50)
    stage.send(35, "c3", 3, timeout_ms=500)
    stage.play(79)
    assert [] == stage.played["c1"].answers
    stage.play(80)

    assert [EXPIRED, EXPIRED] == [stage.outcome_of("c1"), stage.outcome_of("c2")]


def test_the_next_timeout_is_known_whichever_sequence_leaves():
    """A timeout that a shorter one of its sequence replaced does not count."""
    backlog = Backlog()
    for name, sequence, at_ms, timeout_ms in (
        ("a", 1, 0, 10),
        ("b", 2, 1, 5),
        ("c", 3, 2, 0),
        ("d", 4, 3, 60),
        ("e", 4, 4, 8),
        ("f", 5, 5, 20),
    ):
        queued = Queued(name, 1, {}, timeout_us=timeout_ms * 1000)
        backlog.add(SequenceRequest(queued, sequence, 0), at_ms * MS)

    def state():
        return "".join(each.queued.request for each in backlog), backlog.expires_ns

    def expired(at_ns):
        return "".join(each.queued.request for each in backlog.expired(at_ns))

    assert (6, "abcdef", 6 * MS) == (len(backlog), *state())
    assert ("", "b") == (expired(6 * MS - 1), expired(6 * MS))
    assert (5, "acdef", 10 * MS) == (len(backlog), *state())
    assert 1 == backlog.pop().sequence
    assert (4, "cdef", 12 * MS) == (len(backlog), *state())
    assert ("de", "cf", 25 * MS) == (expired(12 * MS), *state())
    assert ("f", "c", NEVER_NS) == (expired(25 * MS), *state())
    assert (3, None, 0) == (backlog.pop().sequence, backlog.pop(), len(backlog))


def test_the_timeout_of_a_sequence_with_a_slot_does_not_count():
    """The timeout of one that got its slot in time does not count, either."""
    stage = Stage(ONE_SLOT)
    stage.send(0, "a1", 1, start=True, takes=50, timeout_ms=1)
    stage.send(1, "a2", 1, end=True, takes=50, timeout_ms=1)
    stage.send(2, "b1", 2, start=True, timeout_ms=60)
    stage.play()

    assert ["done"] * 3 == [stage.outcome_of(name) for name in ("a1", "a2", "b1")]


@pytest.mark.parametrize("config", [IDLE, OLDEST_IDLE])
def test_an_idle_sequence_loses_its_slot_silently(config):
    """The model is not notified, and the sequence must start again."""
    stage = Stage(config)
    for place, name in enumerate(("b1", "b2", "b3")):
        stage.send(150 * place, name, 1, start=not place)
    stage.send(450, "next", 2, start=True, end=True)
    stage.send(560, "b4", 1)
    stage.play()

    assert ["0: b1", "0: b2", "0: b3", "0: next"] == stage.groups()
    assert 500 == round(stage.calls[-1].at_ms)
    assert no_start(1) == stage.outcome_of("b4")


@pytest.mark.parametrize("config", [IDLE, OLDEST_IDLE])
def test_idle_counts_from_the_arrival_of_a_request_not_from_its_end(config):
    """The sequence ends while its request still runs, as on Triton."""
    stage = Stage(config)
    stage.send(0, "a1", 1, start=True, takes=350)
    stage.send(100, "a2", 1)
    stage.send(360, "a3", 1)
    stage.play()

    assert ["0: a1", "0: a2"] == stage.groups()
    assert no_start(1) == stage.outcome_of("a3")


@pytest.mark.parametrize(("again_ms", "answer"), [(365, "done"), (400, no_start(2))])
def test_a_sequence_that_waited_too_long_loses_its_slot_soon_after_it_got_it(
    again_ms, answer
):
    """The next look, every 50 ms, finds it unless it sends a request, as on Triton."""
    stage = Stage(IDLE)
    stage.send(0, "a1", 1, start=True)
    stage.send(20, "b1", 2, start=True, takes=20)
    for place, name in enumerate(("a2", "a3", "a4")):
        stage.send(120 * (place + 1), name, 1, end=name == "a4")
    stage.send(again_ms, "b2", 2)
    stage.play()

    assert ["0: a1", "0: a2", "0: a3", "0: a4", "0: b1"] == stage.groups()[:5]
    assert answer == stage.outcome_of("b2")


def test_a_request_finds_its_sequence_idle_without_a_decision_in_between():
    """The clock of the request decides."""
    batcher = SequenceBatcher(IDLE, 1)
    batcher.add(Queued("start", 1, {"D": (1,)}), 1, SEQUENCE_START, 0)

    with pytest.raises(SequenceRefused):
        batcher.add(Queued("late", 1, {"D": (1,)}), 1, 0, 200 * MS)


def test_a_sequence_that_waits_too_long_is_looked_at_every_50_ms():
    """It has no slot that it could lose."""
    batcher = SequenceBatcher(IDLE, 1)
    for number, at_ms in ((1, 0), (2, 10), (1, 199)):
        flags = 0 if at_ms == 199 else SEQUENCE_START
        batcher.add(Queued("any", 1, {"D": (1,)}), number, flags, at_ms * MS)

    assert 200 * MS == batcher.decide(199 * MS, []).wake_ns
    assert 210 * MS + 1000 == batcher.decide(200 * MS, []).wake_ns
    assert 261 * MS == batcher.decide(211 * MS, []).wake_ns
    assert 311 * MS == batcher.decide(261 * MS, []).wake_ns


def test_a_request_keeps_a_waiting_sequence_alive():
    """Every request restarts the idle time."""
    stage = Stage(IDLE)
    stage.send(0, "a1", 1, start=True)
    stage.send(20, "b1", 2, start=True)
    stage.send(150, "a2", 1)
    stage.send(300, "a3", 1, end=True)
    stage.send(310, "b2", 2)
    stage.send(450, "b3", 2, end=True)
    stage.play()

    assert ["0: b1", "0: b2", "0: b3"] == stage.groups()[3:]


def test_nothing_is_left_to_wake_for_when_all_sequences_are_over():
    """The engine may sleep indefinitely."""
    stage = Stage(IDLE)
    stage.send(0, "a1", 1, start=True)
    stage.play()

    decision = stage.batcher.decide(stage.now_ns, [0])
    assert decision.wake_ns is None
    assert 200 <= stage.now_ns / MS < 201
