"""Sequences with their control tensors, accepted, refused and waiting for a slot."""

import pytest

from .asking import run
from .covering import rows
from .scripted import ACCOUNT, pause

START = {"sequence_start": True}
END = {"sequence_end": True}
CONTROLS = """
control_input {
  name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
control_input {
  name: "END" control { kind: CONTROL_SEQUENCE_END bool_false_true: [ false, true ] } }
control_input {
  name: "READY" control { kind: CONTROL_SEQUENCE_READY fp32_false_true: [ -1, 2.5 ] } }
control_input {
  name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT64 } }
"""


def sequences(settings="", more=CONTROLS, idle_us=15_000_000):
    """Return the configuration of a model with sequences."""
    idle = f"max_sequence_idle_microseconds: {idle_us}"
    return f"sequence_batching {{ {settings} {more} {idle} }}"


def step(s, id, sequence, **given):
    """Send the next request of a sequence, and wait for its response."""
    return s.ask(id, sequence_id=sequence, **given).result()


def executions(s):
    """Return the requests of each execution as the model saw them."""
    return [requests for _, requests in s.calls()]


@rows(
    "r4.3/no-id-or-id-0",
    "r4.3/batch-1",
    "r4.3/first-request-without-start-also-after",
    "r4.3/start-on-a-running-id",
    "r4.3/start-end-in-one-request",
)
def test_who_may_ask(agree, scene):
    """Requests belong to a started sequence that has not ended, one at a time."""

    def case(target):
        with scene(target, "strict", sequences("direct { }"), size=2) as s:
            answers = [s.ask("none").result(), step(s, "zero", 0, **START)]
            answers += [step(s, "empty", "", **START)]
            answers += [step(s, "batch", 5, rows=2, **START)]
            answers += [step(s, "early", 5), step(s, "text", "five")]
            answers += [step(s, "begins", 5, **START), step(s, "again", 5, **START)]
            answers += [step(s, "goes on", 5), step(s, "ends", 5, **END)]
            answers += [step(s, "after the end", 5)]
            answers += [step(s, "both", 6, **START, **END), step(s, "after both", 6)]
            answers += [step(s, "end alone", 7, **END)]
            return [answers, executions(s)]

    agree(case)


@rows("r4.3/idle-max_sequence_idle_microseconds-default-1-s")
def test_who_is_silent_for_too_long(agree, scene):
    """An idle sequence must start again; the model is not notified."""

    def case(target):
        with scene(target, "idle", sequences(idle_us=100_000), size=1) as s:
            answers = [step(s, "begins", 5, **START)]
            pause(1)
            answers += [step(s, "late", 5), step(s, "anew", 5, **START)]
            return [answers, s.groups()]

    agree(case)


SIZES = {"batches": 2, "no batches": 0}


@rows("r4.3/start", "r4.3/middle", "r4.3/end", "r4.3/start-end")
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("settings", ["direct { }", "oldest { }"])
def test_what_the_model_is_told(agree, scene, settings, size):
    """Control tensors of the configured types accompany the inputs."""

    def case(target):
        with scene(target, "told", sequences(settings), size=size) as s:
            step(s, "start", 2**40, **START)
            step(s, "middle", 2**40)
            step(s, "end", 2**40, **END)
            step(s, "alone", 9, **START, **END)
            return [s.failure, s.over(), executions(s)]

    agree(case)


IDS = {
    "TYPE_UINT64": (1, 2**63 - 1),
    "TYPE_INT32": (1, 2**31 - 1),
    "TYPE_UINT32": (2**32 - 1,),
}


@pytest.mark.parametrize("name", IDS)
def test_an_id_is_a_number_of_the_configured_type(agree, scene, name):
    """The number is the client's."""
    control = f"control {{ kind: CONTROL_SEQUENCE_CORRID data_type: {name} }}"

    def case(target):
        more = sequences("", f'control_input {{ name: "ID" {control} }}')
        with scene(target, "numbered", more) as s:
            for number in IDS[name]:
                step(s, f"id {number}", number, **START, **END)
            return [s.over(), executions(s)]

    agree(case)


TEXTS = {"a letter": "a", "not ASCII": "é", "64 letters": "y" * 64}


@pytest.mark.parametrize("id", TEXTS.values(), ids=TEXTS)
def test_an_id_that_is_a_text_reaches_the_model(agree, scene, id):
    """Triton 24.10 reads the rest of its own buffer as a second text."""
    control = "control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING }"
    source = ACCOUNT.replace("array.tolist()", "str(array.tolist())")

    def case(target):
        more = sequences("", f'control_input {{ name: "ID" {control} }}')
        with scene(target, "spelled", more, source=source) as s:
            step(s, "named", id, **START, **END)
            return [s.over(), executions(s)]

    def ours(known, seen):
        assert [] == known[1]
        assert "unexpected number of string elements 2" in known[0]["named"][1]
        assert ["object", [1, 1], str([[id.encode()]])] == seen[1][0][0][3]["ID"]

    agree(case, deviates="a `CONTROL_SEQUENCE_CORRID` of `TYPE_STRING`", ours=ours)


@rows("r4.3/filler-direct")
def test_slots_that_are_silent_are_filled(agree, scene):
    """Slots below a ready one receive a null request, even without READY."""

    def case(target):
        found = []
        for more in (CONTROLS, ""):
            with scene(target, "filled", sequences("direct { }", more), size=4) as s:
                for number in (1, 2, 3):
                    step(s, f"start {number}", number, **START)
                step(s, "third", 3)
                step(s, "second", 2)
                step(s, "first ends", 1, **END)
                step(s, "third again", 3)
                step(s, "fourth takes the free slot", 4, **START)
                found.append([s.over(), executions(s)])
        return found

    agree(case)


@rows("r4.3/slots", "r4.3/request-timeout-of-a-backlogged-sequence")
def test_who_waits_for_a_slot(agree, scene):
    """Sequences wait in the order of their starts, for a limited time."""

    def case(target):
        with scene(target, "narrow", sequences("direct { }"), size=1) as s:
            step(s, "1 starts", 1, **START)
            s.ask("2 starts", sequence_id=2, **START)
            s.ask("3 starts", sequence_id=3, timeout=100_000, **START)
            s.ask("2 ends", sequence_id=2, **END)
            s.ask("4 is alone", sequence_id=4, **START, **END)
            early = s.over("3 starts")
            waits = not s.futures["2 starts"].done()
            step(s, "1 ends", 1, **END)
            said = s.over()
            return [early, waits, said, s.groups(), step(s, "3 goes on", 3)]

    agree(case)


def test_who_waits_for_a_candidates_place(agree, scene):
    """The strategy oldest has a configured number of them, or one for each row."""

    def case(target):
        found = []
        for settings, size in (("max_candidate_sequences: 2", 4), ("", 2)):
            more = sequences(f"oldest {{ {settings} }}")
            with scene(target, f"places{size}", more, size=size) as s:
                for number in (1, 2):
                    step(s, f"{number} starts", number, **START)
                s.ask("3 is alone", sequence_id=3, **START, **END)
                waits = not s.futures["3 is alone"].done()
                step(s, "1 ends", 1, **END)
                found.append([waits, s.over(), s.groups()])
        return found

    agree(case)


def test_the_oldest_leave_together(agree, scene):
    """The batch has one request of each sequence, within the delay."""
    settings = "max_candidate_sequences: 4 max_queue_delay_microseconds: 800000"

    def case(target):
        more = sequences(f"oldest {{ {settings} }}")
        with scene(target, "oldest", more, size=4) as s:
            for number in (1, 2):
                s.ask(f"{number} starts", sequence_id=number, **START)
            said = s.over()
            s.ask("1 goes on", sequence_id=1)
            s.ask("2 ends", sequence_id=2, **END)
            s.ask("3 starts", sequence_id=3, **START)
            s.ask("4 starts", sequence_id=4, **START)
            return [said, s.over(), s.groups()]

    agree(case)


def test_the_request_behind_a_cancelled_one_joins_the_next_batch(agree, scene):
    """The oldest strategy continues a sequence whose first request was cancelled."""
    settings = (
        "max_candidate_sequences: 4 preferred_batch_size: [ 4 ]"
        " max_queue_delay_microseconds: 3000000"
    )

    def case(target):
        more = sequences(f"oldest {{ {settings} }}")
        with scene(target, "cancelled", more, size=4) as s:
            s.ask("1 starts", sequence_id=1, deadline_s=1.0, **START)
            s.ask("1 goes on", sequence_id=1)
            s.ask("2 starts", sequence_id=2, **START)
            s.ask("2 ends", sequence_id=2, **END)
            return [s.over(), s.groups()]

    agree(case)


def test_who_waits_while_the_instance_is_busy(agree, scene):
    """Slots that became ready run together, one request of each."""

    def case(target):
        with scene(target, "held", sequences("direct { }"), size=3) as s:
            for number in (1, 2, 3):
                step(s, f"{number} starts", number, **START)
            s.hold(sequence_id=1)
            s.ask("2 goes on", sequence_id=2)
            s.ask("2 ends", sequence_id=2, **END)
            s.ask("1 ends", sequence_id=1, **END)
            s.ask("3 ends", sequence_id=3, **END)
            s.go()
            return [s.over(), s.groups()]

    agree(case)


@rows("r4.3/all-requests-of-a-sequence-run")
def test_a_sequence_stays_with_its_instance(agree, scene):
    """It stays until it ends."""

    def case(target):
        more = f"{sequences('direct { }')} instance_group {{ kind: KIND_CPU count: 2 }}"
        with scene(target, "paired", more, size=1) as s:
            for number in (1, 2):
                step(s, f"{number} starts", number, **START)
            for id in ("1 goes on", "2 goes on", "2 ends", "1 ends"):
                step(s, id, int(id[0]), **(END if "ends" in id else {}))
            at = {seen[0][0]: instance for instance, seen in s.calls()}
            of = [{at[id] for id in at if id[0] == number} for number in "12"]
            return [s.over(), [len(each) for each in of], of[0] != of[1]]

    agree(case)


@rows("r4.3/2-51-does-not-compare-id")
def test_a_text_where_the_control_is_a_number(agree, scene):
    """It reaches the model; the value of its control tensor is undefined."""

    def case(target):
        with scene(target, "named", sequences()) as s:
            answers = [
                step(s, "text", "seven", **START),
                step(s, "end", "seven", **END),
            ]
            told = [[*each[:3], each[3]["ID"][:2]] for (each,) in executions(s)]
            return [answers, told]

    agree(case)


STATE = """
state {{ input_name: "IN" output_name: "OUT" data_type: TYPE_INT32 dims: [ {dims} ]
initial_state {{ name: "s" data_type: TYPE_INT32 dims: [ {dims} ] {data} }} }}
"""
SEVEN = (7).to_bytes(4, "little") * 2


def test_a_state_is_the_initial_one(agree, scene):
    """Every request gets it, because new states are not kept."""

    def case(target):
        found = []
        for data in ("zero_data: true", 'data_file: "s"'):
            more = sequences("direct { }", STATE.format(dims=2, data=data))
            files = {"initial_state/s": SEVEN}
            with scene(target, "stated", more, size=2, files=files) as s:
                step(s, "start", 1, **START)
                step(s, "middle", 1)
                step(s, "end", 1, **END)
                found.append([s.failure, s.over(), executions(s)])
        return found

    agree(case)


CALLED = """
X = ("X", np.array([[1]], np.int32))
see(bls("called", ["Y"], X, correlation_id=5))
see(bls("called", ["Y"], X))
see(bls("called", ["Y"], X, correlation_id=5, flags=1))
see(bls("called", ["Y"], X, correlation_id=5, flags=2))
see(bls("called", ["Y"], X, correlation_id=5))
"""


@rows("19.2/sequence-without-start", "19.2/sequence-model-no-correlation-id")
def test_a_model_calls_one_with_sequences(agree, scene):
    """The same rules hold for it, in the same words."""

    def case(target):
        with scene(target, "called", sequences(), size=2) as s:
            return [run(s.target, CALLED), executions(s)]

    agree(case)


WAITS = """
X = ("X", np.array([[1]], np.int32))
see(bls("waiting", ["Y"], X, timeout=1000))
"""


@rows("19.2/queue-timeout")
def test_a_model_calls_one_that_is_busy(agree, scene):
    """The wait exceeds the queue's policy."""
    policy = "default_timeout_microseconds: 100000 allow_timeout_override: true"
    more = f"dynamic_batching {{ default_queue_policy {{ {policy} }} }}"

    def case(target):
        with scene(target, "waiting", more) as s:
            s.hold()
            return [run(s.target, WAITS), s.groups()]

    agree(case)


@rows("r4.3/sequence-flags-sent-to-a-model")
def test_a_model_without_sequences_is_told_of_them_too(agree, scene):
    """Its sequence fields are not validated."""

    def case(target):
        with scene(target, "plain", "") as s:
            step(s, "first", 5)
            step(s, "second", 5, **START, **END)
            return [s.over(), [fields[:3] for (fields,) in executions(s)]]

    agree(case)
