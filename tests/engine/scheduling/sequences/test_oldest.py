from ..playing import Stage, config_of

DELAY = "max_queue_delay_microseconds: 100000"


def oldest(candidates, settings="", **shape):
    return config_of(
        f"oldest {{ max_candidate_sequences: {candidates} {settings} }}", **shape
    )


def starts(stage, first_ms, *sequences, takes=0.1):
    for place, sequence in enumerate(sequences):
        ms = first_ms + 4 * place
        stage.send(ms, f"s{sequence}", sequence, start=True, takes=takes)


def test_a_lone_request_waits_for_the_delay():
    """Later requests of its sequence follow one by one, each with its own delay."""
    stage = Stage(oldest(4, DELAY))
    stage.send(0, "a1", 1, start=True, takes=10)
    stage.send(5, "a2", 1)
    stage.play()

    assert ["0: a1", "0: a2"] == stage.groups()
    assert [100, 210] == [round(call.at_ms) for call in stage.calls]


def test_two_sequences_run_in_one_call_without_null_requests():
    """Their slots do not matter; the delay is that of the first."""
    stage = Stage(oldest(4, DELAY))
    starts(stage, 0, 1, 2, 3)
    stage.send(300, "c", 3)
    stage.send(320, "b", 2)
    stage.play()

    assert ["0: s1 s2 s3", "0: c b"] == stage.groups()
    assert [100, 400] == [round(call.at_ms) for call in stage.calls]
    assert "the delay of 100000 µs was over" == stage.calls[1].batch.sent_because.words


def test_the_largest_batch_leaves_at_once():
    """Without preferred sizes the largest size is preferred."""
    stage = Stage(oldest(4, DELAY))
    starts(stage, 0, 1, 2, 3, 4)
    stage.play()

    assert ["0: s1 s2 s3 s4"] == stage.groups()
    assert 12 == stage.calls[0].at_ms


def test_a_preferred_size_leaves_at_once():
    """The third request waits for its own delay."""
    stage = Stage(oldest(4, f"preferred_batch_size: [2] {DELAY}"))
    starts(stage, 0, 1, 2, 3)
    stage.play()

    assert ["0: s1 s2", "0: s3"] == stage.groups()
    assert [4, 108] == [round(call.at_ms) for call in stage.calls]


def test_without_a_delay_waiting_requests_run_together():
    """The batch has one request of each sequence."""
    stage = Stage(oldest(4))
    starts(stage, 0, 1, takes=100)
    starts(stage, 20, 2, 3)
    stage.send(40, "b2", 2, end=True)
    stage.play()

    assert ["0: s1", "0: s2 s3", "0: b2"] == stage.groups()
    assert 1 == len(stage.calls[1].batch.left_out)
    ((left, reason),) = stage.calls[1].batch.left_out
    assert "b2" == left.request.name
    assert "stands behind another request of its slot: one at a time" == reason.words


def test_the_next_of_an_executed_sequence_joins_what_was_formed_ahead():
    """Threads race for this on Triton, so a real server does it every other time."""
    stage = Stage(oldest(4))
    starts(stage, 0, 1, takes=100)
    starts(stage, 20, 2, 3, 4)
    stage.send(40, "a2", 1)
    stage.play()

    assert ["0: s1", "0: s2 s3 s4 a2"] == stage.groups()


def test_candidates_beyond_the_batch_size_are_taken_in_turn():
    """Two of three candidates are batched; the fourth sequence waits for a slot."""
    stage = Stage(oldest(3, batch=2))
    starts(stage, 0, 1, takes=100)
    starts(stage, 10, 2, 3, 4)
    stage.send(200, "e1", 1, end=True)
    stage.play()

    assert ["0: s1", "0: s2 s3", "0: e1", "0: s4"] == stage.groups()
    reasons = dict(
        (q.request.name, why.words) for q, why in stage.calls[1].batch.left_out
    )
    assert {
        "s4": "its sequence waits in the backlog: slots are taken by sequences 1, 2, 3"
    } == reasons


def test_an_ending_sequence_gives_its_slot_away_while_it_runs():
    """The next one has the slot, and waits until the instance is free."""
    stage = Stage(oldest(1, batch=2, instances=2), instances=2)
    stage.send(0, "a1", 1, start=True)
    stage.send(20, "b1", 2, start=True)
    stage.send(40, "a2", 1, end=True, takes=300)
    stage.send(80, "c1", 3, start=True)
    stage.send(100, "b2", 2, end=True)
    stage.play()

    assert ["0: a1", "1: b1", "0: a2", "1: b2", "0: c1"] == stage.groups()
    assert 340 == stage.calls[-1].at_ms


def test_ends_and_single_requests_share_slots_as_on_the_real_server():
    """The slot of a waiting end is assigned again, so its successor waits, too."""
    stage = Stage(oldest(4, DELAY))
    stage.send(0, "a1", 1, start=True)
    stage.send(25, "b1", 2, start=True)
    stage.send(235, "a2", 1, end=True)
    stage.send(239, "b2", 2, end=True)
    for place, name in enumerate("cde"):
        stage.send(244 + 4 * place, name, 3 + place, start=True, end=True)
    stage.play()

    assert ["0: a1 b1", "0: a2 b2 e", "0: c d"] == stage.groups()


def test_a_model_that_does_not_batch_runs_one_at_a_time():
    """The order is that of arrival at the batcher."""
    stage = Stage(oldest(2, batch=0))
    stage.send(0, "a1", 1, start=True, takes=100)
    stage.send(10, "b1", 2, start=True)
    stage.send(14, "a2", 1)
    stage.send(18, "b2", 2)
    stage.play()

    assert ["0: a1", "0: b1", "0: a2", "0: b2"] == stage.groups()


def test_requests_of_another_shape_run_separately():
    """The batcher freezes its batch."""
    stage = Stage(oldest(3, batch=3, dims="-1"))
    starts(stage, 0, 1, takes=100)
    stage.send(20, "wide", 2, start=True, width=2)
    stage.send(24, "narrow", 3, start=True)
    stage.send(28, "next", 1)
    stage.play()

    assert ["0: s1", "0: wide", "0: narrow next"] == stage.groups()


def test_a_cancelled_request_ends_its_sequence():
    """A sequence in the backlog is cancelled when it is next, as on Triton."""
    stage = Stage(oldest(1, batch=1))
    stage.send(0, "a1", 1, start=True, takes=300)
    for ms, name in ((4, "a2"), (8, "a3"), (12, "a4")):
        stage.send(ms, name, 1)
    for ms, name in ((16, "b1"), (20, "b2"), (24, "b3")):
        stage.send(ms, name, 2, start=name == "b1")
    stage.send(28, "c1", 3, start=True)
    stage.cancel(100, "a3")
    stage.cancel(100, "b2")
    stage.send(500, "a5", 1)
    stage.play()

    assert ["0: a1", "0: a2", "0: c1"] == stage.groups()
    assert {"CANCELLED"} == {stage.outcome_of(f"{x}") for x in ("a3", "a4", "b1", "b3")}
    assert stage.outcome_of("a5").startswith(
        "INVALID_ARG inference request for sequence 1"
    )


def test_a_request_cancelled_in_the_batcher_lets_its_sequence_go_on():
    """Only a look of the batcher finds it; its slot continues with the next one."""
    stage = Stage(oldest(1, DELAY, batch=2))
    stage.send(0, "a1", 1, start=True)
    stage.send(10, "a2", 1, end=True)
    stage.cancel(50, "a1")
    stage.send(20, "b1", 2, start=True, end=True)
    stage.play()

    assert "CANCELLED" == stage.outcome_of("a1")
    assert ["0: a2", "0: b1"] == stage.groups()


def test_without_a_number_of_candidates_there_is_one_a_row():
    """The number is that of `direct`; further sequences wait for a slot."""
    stage = Stage(config_of("oldest { }", batch=2))
    starts(stage, 0, 1, 2, 3)
    stage.send(500, "end", 1, end=True)
    stage.play()

    assert ["0: s1", "0: s2", "0: end", "0: s3"] == stage.groups()


def test_the_request_behind_a_cancelled_one_joins_the_next_batch():
    """Triton answers a cancelled request before it forms the next batch."""
    stage = Stage(oldest(4, f"preferred_batch_size: [4] {DELAY}"))
    stage.send(0, "a1", 1, start=True)
    stage.send(5, "a2", 1)
    stage.send(20, "b1", 2, start=True)
    stage.send(25, "b2", 2)
    stage.cancel(50, "a1")
    stage.play()

    assert ["0: b1 a2", "0: b2"] == stage.groups()
    assert [120, 220] == [round(call.at_ms) for call in stage.calls]
