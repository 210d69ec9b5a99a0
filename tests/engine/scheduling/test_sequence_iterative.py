import pytest

from .playing import Stage, config_of

DIRECT = "iterative_sequence: true direct {}"
OLDEST = "iterative_sequence: true oldest { max_candidate_sequences: 3 }"


def test_a_rescheduled_request_shares_batches_with_new_ones():
    """Five requests run in two slots as on the real server."""
    stage = Stage(config_of(DIRECT, batch=2))
    for ms, name, again in ((0, "a", 3), (5, "b", 1), (22, "c", 2), (26, "d", 0)):
        stage.send(ms, name, again=again, takes=30)
    stage.send(30, "e", again=1, takes=30)
    stage.play()

    assert ["0: a", "0: a b", "0: a b", "0: a c", "0: d c", "0: e c", "0: e"] == (
        stage.groups()
    )
    assert {"done"} == {stage.outcome_of(name) for name in "abcde"}
    assert [1, 2, 3, 4, 5] == [stage.played[name].sequence for name in "abcde"]


@pytest.mark.parametrize("strategy", [DIRECT, OLDEST])
def test_an_answered_request_ends_its_sequence(strategy):
    """Later requests of the sequence must start again."""
    stage = Stage(config_of(strategy, batch=2))
    stage.send(0, "own", 77, start=True, again=1)
    stage.send(100, "more", 77)
    stage.send(200, "other", 88)
    stage.play()

    assert ["0: own", "0: own"] == stage.groups()
    assert "must specify the START flag" in stage.outcome_of("more")
    assert "must specify the START flag" in stage.outcome_of("other")


@pytest.mark.parametrize("strategy", [DIRECT, OLDEST])
def test_answered_requests_make_room_for_others(strategy):
    """More requests than slots are rescheduled a few times each."""
    stage = Stage(config_of(strategy, batch=2))
    for place in range(8):
        stage.send(place, f"r{place}", again=place % 3, takes=3)
    stage.play()

    assert {"done"} == {stage.outcome_of(f"r{place}") for place in range(8)}
    ran = [name for call in stage.calls for name in call.names if name != "-"]
    assert {f"r{place}": place % 3 + 1 for place in range(8)} == {
        name: ran.count(name) for name in ran
    }


@pytest.mark.parametrize("strategy", [DIRECT, OLDEST])
def test_a_request_that_runs_longer_than_the_idle_limit_cannot_be_rescheduled(
    strategy,
):
    """The real server never answers it."""
    idle = f"max_sequence_idle_microseconds: 100000 {strategy}"
    stage = Stage(config_of(idle, batch=2))
    stage.send(0, "slow", again=2, takes=250)
    stage.send(1500, "next", takes=250)
    stage.play()

    assert ["0: slow", "0: next"] == stage.groups()
    assert stage.outcome_of("slow").startswith(
        "INVALID_ARG inference request for sequence 1"
    )
    assert "done" == stage.outcome_of("next")
