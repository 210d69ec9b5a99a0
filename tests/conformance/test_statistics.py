"""Statistics of requests that succeed, fail, wait, or never arrive."""

from .asking import ask_repl, run
from .counting import counted, samples
from .covering import rows
from .scripted import ACCOUNT

FINAL = "pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL"
CHOOSING = ACCOUNT.replace(
    "return self.answer(requests)",
    """if any("raises" in request.request_id() for request in requests):
            raise ValueError("boom")
        if any("short" in request.request_id() for request in requests):
            return []
        return self.answer(requests)""",
).replace(
    """    def reply(self, request):
""",
    """    def reply(self, request):
        if "error" in request.request_id():
            error = pb_utils.TritonError("no")
            return pb_utils.InferenceResponse(error=error)
""",
)
FAILURES = "nv_inference_request_failure"
COUNTERS = (
    "nv_inference_request_success",
    FAILURES,
    "nv_inference_count",
    "nv_inference_exec_count",
    "nv_inference_pending_request_count",
)


@rows(
    "r5.1/name-version",
    "r5.1/last_inference",
    "r5.1/inference_count",
    "r5.1/execution_count",
    "r5.1/inference_stats-k",
    "r5.1/response_stats",
    "r5.1/batch_stats",
    "r5.1/memory_usage",
    "r5.1/queue-count-success-count-compute_-count",
    "r5.1/exception-in-execute-bad-return-list",
    "r5.1/inferenceresponse-error-normal-or-decoupled",
    "r5.1/validation-error-unknown-model-missing-start",
    "r1.4/statistics-after-any-reload",
    "r5.4/nv_inference_request_success-nv_inference_request_failure-extra",
    "r5.4/nv_inference_pending_request_count",
)
def test_requests_are_counted(agree, scene):
    """Outcomes and sizes of executions are counted."""

    def case(target):
        with scene(target, "counted_choosing", "", size=4, source=CHOOSING) as s:
            found = [counted(s.target, "counted_choosing", 0)]
            for id, size in (("one", 1), ("four", 4), ("another", 1)):
                s.ask(id, rows=size).result()
            found += [counted(s.target, "counted_choosing", 3)]
            ids = ("error", "raises", "returns a list too short")
            answers = [s.ask(id, rows=2).result() for id in ids]
            answers += [s.ask("too many", rows=5).result()]
            found += [counted(s.target, "counted_choosing", 6)]
            found += samples(s.target, "counted_choosing", *COUNTERS)
        with scene(target, "counted_choosing", "", size=4, source=CHOOSING) as s:
            return [answers, found, counted(s.target, "counted_choosing", 0)]

    agree(case)


BATCHING = "dynamic_batching { %s }"


@rows("r5.1/queue-timeout", "r5.1/cancelled-while-queued-dynamic-batching")
def test_batches_are_counted(agree, scene):
    """Each batch counts once; refused and cancelled requests count, too."""

    def case(target):
        policy = "max_queue_size: 4 default_timeout_microseconds: 15000000 "
        policy += "allow_timeout_override: true"
        more = BATCHING % f"default_queue_policy {{ {policy} }}"
        with scene(target, "counted_queued", more, source=CHOOSING) as s:
            s.hold()
            s.ask("impatient", timeout=1000).result()
            s.ask("leaves", deadline_s=0.2)
            s.ask("two", rows=2)
            s.ask("raises", rows=3)
            s.ask("one")
            refused = s.ask("too late").result()
            s.over("leaves")
            s.go()
            answers = s.over()
            found = counted(s.target, "counted_queued", 6)
            failures = samples(s.target, "counted_queued", FAILURES)
            return [refused, sorted(answers), s.groups(), found, failures]

    agree(case)


@rows("r5.1/cancelled-but-executed", "r4.1/requests-cancelled-by-the-client-are")
def test_who_left_is_counted(agree, scene):
    """It is a success: without a batcher it is executed anyway."""

    def case(target):
        with scene(target, "counted_left", "") as s:
            s.hold()
            s.ask("leaves", deadline_s=0.2)
            s.over("leaves")
            s.go()
            s.ask("next").result()
            failures = samples(s.target, "counted_left", FAILURES)
            return [
                s.over(),
                s.groups(),
                counted(s.target, "counted_left", 3),
                failures,
            ]

    agree(case)


@rows(
    "r4.1/no-scheduler-in-the-config-default",
    "r4.1/default-scheduler-ignores-priority-and-timeout",
)
def test_without_a_batcher_every_request_is_an_execution(agree, scene):
    """The order is that of arrival, whatever priority and timeout are."""

    def case(target):
        with scene(target, "counted_alone", "") as s:
            s.hold()
            s.ask("first", priority=9)
            s.ask("second", timeout=1)
            s.ask("third", priority=1, rows=8)
            s.go()
            said = s.over()
            return [said, s.groups(), counted(s.target, "counted_alone", 4)]

    agree(case)


STREAMS = ACCOUNT.replace(
    "return self.answer(requests)",
    f"""for request in requests:
            sender = request.get_response_sender()
            for _ in range(3 if "three" in request.request_id() else 0):
                sender.send(self.reply(request))
            if "error" in request.request_id():
                error = pb_utils.TritonError("no")
                sender.send(pb_utils.InferenceResponse(error=error))
            sender.send(flags={FINAL})
            if "raises" in request.request_id():
                raise ValueError("boom")""",
)


@rows("r5.1/decoupled-request")
def test_streams_are_counted(agree, scene):
    """A stream counts once, whatever its responses; an error is a success."""

    def case(target):
        more = "model_transaction_policy { decoupled: true }"
        with scene(target, "counted_streams", more, source=STREAMS) as s:
            for id in ("three", "none", "an error", "three and an error"):
                s.ask(id, stream=True).result()
            return [s.over(), counted(s.target, "counted_streams", 4)]

    agree(case)


def test_a_stream_whose_execution_fails_is_counted(agree, scene):
    """It is a failure, even if its final flag was sent before."""

    def case(target):
        more = "model_transaction_policy { decoupled: true }"
        with scene(target, "counted_failures", more, source=STREAMS) as s:
            for id in ("three, raises", "none, raises", "error, raises"):
                s.ask(id, stream=True).result()
            failures = samples(s.target, "counted_failures", FAILURES)
            return [s.over(), counted(s.target, "counted_failures", 3), failures]

    agree(case)


CALLS = """
X = ("X", np.array([[1], [2]], np.int32))
see(bls("callee", ["Y"], X), bls("callee", ["NOPE"], X))
"""


@rows("r5.1/bls-child")
def test_calls_of_models_are_counted(agree, scene):
    """The called model counts them like client requests."""

    def case(target):
        with scene(target, "callee", "") as s:
            s.target.unload("repl")
            shown = run(s.target, CALLS)
            ask_repl(s.target, "")
            return [
                shown,
                counted(s.target, "callee", 1),
                counted(s.target, "repl", 2),
            ]

    agree(case)


FLAGS = ({"sequence_start": True}, {}, {"sequence_end": True})


@rows("r5.1/direct-sequence-null-requests")
def test_sequences_are_counted(agree, scene):
    """Null requests only count in the batch's size."""

    def case(target):
        slots = "direct { } max_sequence_idle_microseconds: 60000000"
        more = f"sequence_batching {{ {slots} }}"
        with scene(target, "counted_slots", more, size=3) as s:
            for flags in FLAGS:
                for number in (1, 2, 3):
                    s.ask(f"{number} {len(s.futures)}", sequence_id=number, **flags)
                    s.over()
            refused = s.ask("late", sequence_id=1).result()
            return [refused, counted(s.target, "counted_slots", 9)]

    agree(case)
