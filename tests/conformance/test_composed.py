"""Ensembles among other features: streams, queues, sequences, counts, the cache."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from textwrap import dedent

import pytest
from model.ensembles import DECOUPLED, IO, ensemble, ins, model, optional, outs, step
from waiting import until

from .asking import tensor
from .composed import ADD, BATCHES, DOUBLE, Cast, Written
from .covering import rows
from .scripted import WAIT_S

CHAIN = ensemble(step("plus", made="Y=M"), step("double", "X=M"))
PLAIN = {"plus": Written(ADD), "double": Written(DOUBLE)}
TWO_BY_TWO = tensor([[1, 2], [3, 4]])


@pytest.fixture
def cast(beside):
    """Return a function that writes ensembles to the server without completion."""
    return lambda target, *given: Cast(beside(target), *given)


def streaming(lines):
    """Return a decoupled model that sends with the sender of its request."""
    return Written(
        f"sender = request.get_response_sender()\n{dedent(lines)}\nreturn None",
        model(IO, DECOUPLED),
    )


SENDS = {
    "three": """
        for number in range(3):
            sender.send(reply(Y=x_of(request) + number), FINAL * (number == 2))
    """,
    "flagged": """
        sender.send(reply(Y=x_of(request)))
        sender.send(reply(Y=x_of(request)))
        sender.send(flags=FINAL)
    """,
    "none": "sender.send(flags=FINAL)",
    "error": """
        sender.send(reply(Y=x_of(request)))
        pause(0.6)
        sender.send(failure("dec err"), FINAL)
    """,
    "errors": """
        sender.send(failure("one"))
        sender.send(failure("two"), FINAL)
    """,
    "only error": 'sender.send(failure("dec err"), FINAL)',
    "between": """
        sender.send(reply(Y=x_of(request)))
        pause(0.6)
        sender.send(failure("dec err"))
        sender.send(reply(Y=x_of(request)))
        sender.send(flags=FINAL)
    """,
    "absent": """
        sender.send(reply())
        pause()
        sender.send(reply(Y=x_of(request)), FINAL)
    """,
    "late": """
        def later():
            sender.send(reply(Y=x_of(request)))
            pause()
            sender.send(reply(Y=x_of(request) + 1), FINAL)
        threading.Thread(target=later).start()
    """,
}


def without_final(answers):
    """Return the responses of a stream, without the position of the final flag."""
    said = [each for each in answers if each.outputs or each.error is not None]
    return [replace(each, final=None) for each in said]


@rows("r4.4/response-carries-extra-parameters-sequence_id-sequence_start")
def test_an_ensemble_as_a_step_names_the_sequence_of_the_next_step(agree, cast):
    """Its response has the flags, also for an output that it leaves out."""

    def case(target):
        opt = Written("return reply(Y=x_of(request))", model(optional("A"), IO))
        io = ins() + outs("Y") + outs("Z")
        both = "Y=H Z=N"
        last = step("opt", "A=N X=X", "Y=Y")
        outer = ins() + outs("Y") + outs("H")
        models = {
            "half": Written(ADD, model(io)),
            "opt": opt,
            "inner": ensemble(step("half", made="Y=Y Z=Z"), io=io),
            "outer": ensemble(step("inner", made=both), last, io=outer),
            "direct": ensemble(step("half", made=both), last, io=outer),
        }
        with cast(target, models) as c:
            start = {"sequence_id": 5, "sequence_start": True}
            answers = [c.ask(name, **start) for name in ("outer", "direct")]
            return [answers, c.calls()]

    agree(case)


FAILS_LATER = """
sender = request.get_response_sender()
sender.send(reply(Y=x_of(request)))
pause(0.6)
raise ValueError("boom")
"""


def test_a_failure_follows_the_response_of_a_step(agree, cast):
    """Streams receive what the following steps made of it; infer expects one."""

    def case(target):
        models = {
            **PLAIN,
            "s": Written(FAILS_LATER, model(IO)),
            "first": ensemble(step("s", made="Y=M"), step("plus", "X=M")),
            "last": ensemble(step("plus", made="Y=M"), step("s", "X=M")),
            "outer": ensemble(step("first", made="Y=M"), step("double", "X=M")),
        }
        with cast(target, models) as c:
            found = [c.loaded]
            for each in ("first", "last", "outer"):
                found += [c.stream(each), c.called(), c.ask(each)]
            return found

    agree(case)


@rows(
    "r4.4/decoupled-step-ensemble-is-decoupled-http",
    "r4.4/step-error-in-a-decoupled-ensemble",
)
@pytest.mark.parametrize("name", SENDS)
def test_a_stream_of_a_step(agree, cast, name):
    """Each response passes through all following steps."""

    def case(target):
        models = {
            **PLAIN,
            "s": streaming(SENDS[name]),
            "first": ensemble(step("s", made="Y=M"), step("plus", "X=M")),
            "last": ensemble(step("plus", made="Y=M"), step("s", "X=M")),
            "outer": ensemble(step("first", made="Y=M"), step("double", "X=M")),
            "t": streaming(SENDS["flagged"]),
            "twice": ensemble(step("first", made="Y=M"), step("t", "X=M")),
        }
        with cast(target, models) as c:
            found = [c.loaded]
            for each in ("first", "last", "outer", "twice"):
                found += [without_final(c.stream(each, id="mine")), c.called()]
            return [*found, c.ask("first")]

    agree(case)


@rows("r4.4/each-step-is-a-normal-request")
def test_a_step_may_time_out_in_its_queue(agree, cast):
    """The policy is that of the step's model; the code is, too."""
    waits = model(
        IO,
        "dynamic_batching { default_queue_policy { default_timeout_microseconds: "
        "1000000 allow_timeout_override: true } }",
        "max_batch_size: 1",
    )
    io = ins() + outs()

    def case(target):
        models = {
            **PLAIN,
            "slow": Written("wait_for('go')\nreturn reply(Y=x_of(request))", waits),
            "e": ensemble(
                step("slow", made="Y=M"),
                step("slow", "X=M"),
                io=io,
                more="max_batch_size: 1",
            ),
        }
        give = {"X": tensor([[1, 2]])}
        with cast(target, models) as c, ThreadPoolExecutor(2) as pool:
            first = pool.submit(c.ask, "e", give=give, id="first")
            until(lambda: (c.notes / "calls").exists())
            late = [c.ask("e", give=give), c.ask("e", give=give, timeout=1000)]
            counted = c.counted("e"), c.counted("slow")
            c.go("go")
            return [late, counted, first.result(WAIT_S), c.called()]

    agree(case)


START = {"sequence_start": True}
END = {"sequence_end": True}


def test_a_step_may_want_a_sequence(agree, cast):
    """It receives that of the ensemble's request, and refuses requests without one."""
    idle = "max_sequence_idle_microseconds: 60000000"
    sequences = model(IO, f"sequence_batching {{ {idle} }}")

    def case(target):
        models = {
            "counts": Written(
                "self.seen = getattr(self, 'seen', 0) + 1\n"
                "return reply(Y=x_of(request) + np.float32(self.seen))",
                sequences,
            ),
            "plus": Written(ADD),
            "marked": ensemble(step("counts", made="Y=M"), step("plus", "X=M")),
            "after": ensemble(step("plus", made="Y=M"), step("counts", "X=M")),
        }
        with cast(target, models) as c:
            found = []
            for name in ("marked", "after"):
                found += [c.ask(name), c.ask(name, sequence_id=3)]
                found += [
                    c.ask(name, sequence_id=3, **START),
                    c.ask(name, sequence_id=3),
                ]
                found += [c.ask(name, sequence_id=3, **END), c.ask(name, sequence_id=3)]
            return [found, c.calls(), c.counted("marked"), c.counted("counts")]

    agree(case)


@rows("r5.1/ensemble", "r5.1/failing-ensemble-request")
def test_requests_are_counted(agree, cast):
    """Ensemble and steps count; a failed step counts twice."""

    def case(target):
        models = {
            **PLAIN,
            "bad": Written("return failure('no')"),
            "booming": Written("raise ValueError('boom')"),
            "narrow": Written(ADD, model(ins(dims="1"), outs())),
            # A name of its own: the metrics of a name outlive its model.
            "responds": streaming(SENDS["three"]),
            "counted": CHAIN,
            "fails": ensemble(step("plus", made="Y=M"), step("bad", "X=M")),
            "booms": ensemble(step("plus", made="Y=M"), step("booming", "X=M")),
            "refused": ensemble(step("plus", made="Y=M"), step("narrow", "X=M")),
            "refused_first": ensemble(step("narrow")),
            "above": ensemble(step("fails")),
            "stream": ensemble(step("responds", made="Y=M"), step("plus", "X=M")),
            "rows": ensemble(step("row"), more=BATCHES),
            "row": Written(ADD, model(IO, BATCHES)),
        }
        names = list(models)
        with cast(target, models) as c:
            for _ in range(3):
                for name in names:
                    if isinstance(models[name], str) and name != "rows":
                        c.stream(name)
            c.ask("rows", give={"X": TWO_BY_TWO})
            c.ask("counted", give={})
            c.ask("counted", "Q")
            sums = [
                c.took("counted", phase) > 0
                for phase in ("success", "queue", "compute_infer")
            ]
            return [c.loaded, {name: c.counted(name) for name in names}, sums]

    agree(case)


def test_durations_are_those_of_the_steps(agree, cast):
    """The duration of an ensemble is the sum of its steps, for every caller."""

    def case(target):
        with cast(target, {**PLAIN, "chain": CHAIN}) as c:
            answers = [c.ask("chain").error for _ in range(3)]
            phases = ("compute_input", "compute_infer", "compute_output")
            sums = [
                c.took("chain", each) == sum(c.took(name, each) for name in PLAIN)
                for each in phases
            ]
            return [
                answers,
                sums,
                c.took("chain", "queue") < c.took("chain", "success"),
            ]

    agree(case)


CACHED = "response_cache { enable: true }"


@rows("r4.6/hit-inside-an-ensemble-step-counts")
def test_answers_come_from_the_cache(agree, cast):
    """The whole ensemble or a step is cached, then without parameters."""

    def case(target):
        models = {
            **PLAIN,
            "kept": Written(ADD, model(IO, CACHED)),
            "whole": ensemble(
                step("plus", made="Y=M"), step("double", "X=M"), more=CACHED
            ),
            "part": ensemble(step("kept", made="Y=M"), step("double", "X=M")),
            "errs": ensemble(step("bad"), more=CACHED),
            "bad": Written("return failure('no')"),
        }
        with cast(target, models) as c:
            found = []
            for name in ("whole", "part", "errs"):
                found += [c.ask(name), c.ask(name, id="mine"), c.called()]
                if name != "errs":
                    found += [c.parameters(c.request(name, (), {}, {}))]
                found += [c.ask(name, "Y", sequence_id=4)]
            return [found, {name: c.counted(name) for name in models}]

    agree(case)


def test_a_client_that_leaves(agree, cast):
    """Is seen by the steps that run; those behind them are not begun."""
    looks = """
        for _ in range(1500):
            if request.is_cancelled():
                break
            threading.Event().wait(0.002)
        with open(os.path.join(NOTES, "saw"), "w") as file:
            file.write(str(request.is_cancelled()))
        return reply(Y=x_of(request))
    """

    def case(target):
        models = {**PLAIN, "looks": Written(looks)}
        models["left"] = ensemble(step("looks", made="Y=M"), step("plus", "X=M"))
        with cast(target, models) as c:
            late = c.ask("left", deadline_s=0.4)
            until(lambda: (c.notes / "saw").exists())
            # Its end cannot be observed; it is counted then.
            until(lambda: any(c.counted("left")[0]))
            saw = (c.notes / "saw").read_text()
            return [late, saw, c.called(), c.counted("left"), c.ask("plus")]

    agree(case)
