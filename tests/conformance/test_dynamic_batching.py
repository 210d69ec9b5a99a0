"""Which requests the dynamic batcher lets leave together, and whom it refuses."""

import pytest

from .counting import counted
from .covering import rows
from .scripted import ACCOUNT, pause

DELAY = "dynamic_batching { max_queue_delay_microseconds: 800000 %s }"
AT_ONCE = "dynamic_batching { %s }"
Z = 'input { name: "Z" data_type: TYPE_INT32 dims: [ 1 ] optional: true }'


def groups_of(s, *requests):
    """Return the groups in which requests at short intervals were executed.

    Each is a number of rows, or the arguments of `Scene.ask`.
    """
    for number, each in enumerate(requests):
        given = each if isinstance(each, dict) else {"rows": each}
        s.ask(f"r{number}", **given)
    return [s.over(), s.forget()]


@rows("r4.2/3-requests-of-batch-1", "r4.2/batches-2-3-4", "r4.2/4-4")
def test_who_leaves_when_a_delay_is_allowed(agree, scene):
    """All requests in time form a batch; a full batch leaves at once."""

    def case(target):
        with scene(target, "delayed", DELAY % "") as s:
            return [
                groups_of(s, 1, 1, 1),
                groups_of(s, 2, 3, 4),
                groups_of(s, 4, 4),
                groups_of(s, 8, 1),
            ]

    agree(case)


@rows(
    "r4.2/preferred_batch_size-4-4-requests",
    "r4.2/preferred_batch_size-4-5",
    "r4.2/3-with-preferred-4",
)
def test_a_preferred_size_leaves_at_once(agree, scene):
    """Later requests wait for others, and smaller batches for the delay."""

    def case(target):
        more = DELAY % "preferred_batch_size: [ 4 ]"
        with scene(target, "preferring", more) as s:
            return [
                groups_of(s, 1, 1, 1, 1),
                groups_of(s, 1, 1, 1, 1, 1),
                groups_of(s, 1, 1, 1),
                groups_of(s, 3, 2),
                groups_of(s, 5),
            ]

    agree(case)


WIDTHS = [{"width": width} for width in (2, 2, 3, 2)]


@rows(
    {
        "": "r4.2/shapes-1-2-1-2-1",
        "allow_ragged_batch: true": "r4.2/same-with-allow_ragged_batch-true",
    }
)
@pytest.mark.parametrize("ragged", ["", "allow_ragged_batch: true"])
def test_shapes_differ(agree, scene, ragged):
    """They are executed in separate batches, unless the input may be ragged."""

    def case(target):
        given = {"dims": "-1", "ragged": ragged}
        with scene(target, "shaped", DELAY % "", **given) as s:
            return groups_of(s, *WIDTHS)

    agree(case)


@rows("r4.2/optional-input-present-in-one-of")
def test_inputs_differ(agree, scene):
    """Requests with different inputs are executed in separate batches."""

    def case(target):
        with scene(target, "choosing", f"{DELAY % ''} {Z}") as s:
            return groups_of(s, 1, {"z": True}, 1)

    agree(case)


BUSY = {
    "": "r4.2/d-0-instance-busy-0-3",
    "preferred_batch_size: [ 2, 4 ]": "r4.2/d-0-preferred-2-4-same",
}


@rows(BUSY)
@pytest.mark.parametrize("settings", BUSY)
def test_who_waits_for_a_busy_instance(agree, scene, settings):
    """All waiting requests run together; a preferred size is frozen when reached."""

    def case(target):
        with scene(target, "busy", AT_ONCE % settings) as s:
            s.hold()
            # More than these the real batcher groups in one way or another.
            for number in range(3 if settings else 5):
                s.ask(f"r{number}")
            s.go()
            return [s.over(), s.groups()]

    agree(case)


@rows(
    "r4.2/max_batch_size-0-with-dynamic_batching",
    "r2.6/dynamic_batching-with-max_batch_size-0",
)
def test_a_model_that_does_not_batch(agree, scene):
    """It executes one request after another."""

    def case(target):
        with scene(target, "single", AT_ONCE % "", size=0) as s:
            s.hold()
            for number in range(3):
                s.ask(f"r{number}")
            s.go()
            return [s.failure, s.over(), s.groups()]

    agree(case)


STREAMING = ACCOUNT.replace(
    "return self.answer(requests)",
    """for request in requests:
            sender = request.get_response_sender()
            sender.send(self.reply(request))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)""",
)
DECOUPLED = "model_transaction_policy { decoupled: true }"


@rows("r4.2/decoupled-model", "r2.6/decoupled-dynamic_batching")
def test_a_decoupled_model_batches(agree, scene):
    """It batches like any other model."""

    def case(target):
        more = f"{AT_ONCE % ''} {DECOUPLED}"
        with scene(target, "streaming", more, source=STREAMING) as s:
            s.hold(stream=True)
            for number in range(2):
                s.ask(f"r{number}", stream=True)
            s.go()
            return [s.failure, s.over(), s.groups()]

    agree(case)


def test_priorities_decide_who_goes_first(agree, scene):
    """Level 1 is first; a missing or invalid level is the default."""

    def case(target):
        levels = "priority_levels: 3 default_priority_level: 2"
        with scene(target, "levels", AT_ONCE % levels, size=1) as s:
            s.hold()
            for number, level in enumerate((3, 3, 2, 1, 0, 9)):
                given = {"priority": level} if level else {}
                s.ask(f"r{number}", **given)
            s.go()
            return [s.over(), s.groups()]

    agree(case)


POLICY = "dynamic_batching { default_queue_policy { %s } }"


@rows("r4.2/max_queue_size-n")
def test_a_queue_is_full(agree, scene):
    """Further requests are refused at once; a running one does not count."""

    def case(target):
        with scene(target, "full", POLICY % "max_queue_size: 2", size=1) as s:
            s.hold()
            for number in range(4):
                s.ask(f"r{number}")
            early = s.over("r2", "r3")
            s.go()
            return [early, s.over(), s.groups()]

    agree(case)


def test_a_queue_of_a_decoupled_model_is_full(agree, scene):
    """The refusal on a stream has no final flag, even if the client wants one."""

    def case(target):
        more = f"{POLICY % 'max_queue_size: 1'} {DECOUPLED}"
        with scene(target, "full_stream", more, size=1, source=STREAMING) as s:
            s.hold(stream=True)
            s.ask("waits", stream=True)
            told = {"triton_enable_empty_final_response": True}
            early = [s.ask(id, stream=True, **told).result() for id in ("r0", "r1")]
            s.go()
            return [early, s.over(), s.groups(), counted(s.target, "full_stream", 2)]

    agree(case)


@rows(
    "r4.2/default_timeout_microseconds-reject",
    "r4.2/allow_timeout_override",
    "r4.2/no-override-allowed",
)
def test_who_waits_too_long_is_refused(agree, scene):
    """A request may shorten the timeout of its queue, if the policy allows it."""

    def waiting(target, settings, *timeouts, early=()):
        with scene(target, "impatient", POLICY % settings) as s:
            s.hold()
            for number, timeout in enumerate(timeouts):
                given = {"timeout": timeout} if timeout else {}
                s.ask(f"r{number}", **given)
            first = s.over(*early) if early else {}
            s.go()
            return [first, s.over(), s.groups()]

    def case(target):
        short = "default_timeout_microseconds: 100000"
        long = "default_timeout_microseconds: 15000000"
        may = "allow_timeout_override: true"
        return [
            waiting(target, short, 0, 0, early=("r0", "r1")),
            waiting(target, f"{short} {may}", 15_000_000, early=("r0",)),
            waiting(target, f"{long} {may}", 0, 1000, 0, early=("r1",)),
            waiting(target, long, 0, 1000),
            waiting(target, may, 0, 1000),
        ]

    agree(case)


@rows("r4.2/delay")
def test_who_waits_too_long_goes_behind(agree, scene):
    """With the policy DELAY it is executed after all others."""

    def case(target):
        more = POLICY % (
            "timeout_action: DELAY default_timeout_microseconds: 15000000 "
            "allow_timeout_override: true"
        )
        with scene(target, "delaying", more, size=1) as s:
            s.hold()
            for number, timeout in enumerate((1, 0, 1, 0)):
                given = {"timeout": timeout} if timeout else {}
                s.ask(f"r{number}", **given)
            pause(0.01)
            s.go()
            return [s.over(), s.groups()]

    agree(case)


@rows("r4.2/cancelled-while-waiting-in-a-dynamic")
def test_a_client_leaves_while_it_waits(agree, scene):
    """The model never sees it, unless its batch was formed already."""

    def left(target, settings):
        with scene(target, "left", settings, size=1) as s:
            s.hold()
            s.ask("early", deadline_s=0.3)
            s.ask("late", deadline_s=0.3)
            said = s.over("early", "late")
            s.go()
            s.ask("next")
            return [said, s.over(), s.groups()]

    def case(target):
        return [left(target, AT_ONCE % ""), left(target, POLICY % "max_queue_size: 9")]

    agree(case)
