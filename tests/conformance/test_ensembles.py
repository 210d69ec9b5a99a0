"""Execution of ensembles: the inputs of steps and the outputs of clients."""

from __future__ import annotations

import pytest
from model.ensembles import IO, ensemble, ins, model, optional, outs, step

from .asking import tensor, texts
from .composed import ADD, BATCHES, DOUBLE, Cast, Written
from .covering import rows

CHAIN = ensemble(step("plus", made="Y=M"), step("double", "X=M"))
PLAIN = {"plus": Written(ADD), "double": Written(DOUBLE)}


@pytest.fixture
def cast(beside):
    """Return a function that writes ensembles to the server without completion."""
    return lambda target, *given: Cast(beside(target), *given)


@rows("r4.4/each-step-is-a-normal-request")
def test_steps_get_the_fields_of_the_request(agree, cast):
    """Its id, its sequence, its timeout, its parameters; not its outputs."""

    def case(target):
        models = {**PLAIN, "chain": CHAIN}
        models["double"] = Written(
            "return reply(Y=x_of(request) * 2, Z=x_of(request))", model(IO, outs("Z"))
        )
        with cast(target, models) as c:
            answers = [c.ask("chain"), c.ask("chain", "Y", id="mine")]
            answers += [c.ask("chain", sequence_id=5, sequence_start=True)]
            answers += [c.ask("chain", sequence_id="five", sequence_end=True)]
            answers += [c.ask("chain", timeout=10_000_000, priority=3)]
            answers += [c.ask("chain", text="t", number=7, flag=True)]
            return [answers, c.calls()]

    agree(case)


@rows("r4.4/response-carries-extra-parameters-sequence_id-sequence_start")
def test_a_response_tells_of_its_sequence(agree, cast):
    """For every request with outputs, even without a sequence."""

    def case(target):
        models = {**PLAIN, "chain": CHAIN}
        nothing = Written("return reply()")
        models |= {"nothing": nothing, "absent": ensemble(step("nothing"))}
        with cast(target, models) as c:
            found = []
            for name in ("chain", "absent"):
                for fields in (
                    {},
                    {"sequence_id": 5, "sequence_start": True},
                    {"sequence_id": "five", "sequence_end": True},
                ):
                    request = c.request(name, (), {}, fields)
                    found.append(c.parameters(request))
            return found

    agree(case)


DIAMOND = ensemble(
    step("plus", made="Y=A"),
    step("double", "X=A", "Y=B"),
    step("double", "X=A", "Y=C"),
    step("join", "P=B Q=C", "Y=D"),
    io=ins() + "".join(map(outs, "ABCD")),
)
JOIN = Written(
    "return reply(Y=x_of(request, 'P') + x_of(request, 'Q'))",
    model(ins("P"), ins("Q"), outs()),
)


@rows(
    "r4.4/a-step-starts-when-all-its",
    "r4.4/order-of-outputs-in-the-response",
    "r4.4/ensemble-outputs-without-data-at-the",
)
def test_what_nobody_wants_is_not_made(agree, cast):
    """The requested outputs decide which steps run."""
    wanted = ("", "A", "B", "C", "D", "A B", "B C", "C D", "D A", "A B C D")

    def case(target):
        with cast(target, {**PLAIN, "join": JOIN, "diamond": DIAMOND}) as c:
            return {
                names: [c.ask("diamond", *names.split()), c.called()]
                for names in wanted
            }

    agree(case)


MEETS = """
for there in ({0!r}, {1!r}):
    if there == {0!r}:
        open(os.path.join(NOTES, there), "w").close()
    wait_for(there)
return reply(Y=x_of(request))
"""


@rows("r4.4/a-step-starts-when-all-its")
def test_steps_that_need_nothing_of_each_other(agree, cast):
    """They run in parallel; a step without a requested output does not run."""

    def case(target):
        models = {
            "left": Written(MEETS.format("left here", "right here")),
            "right": Written(MEETS.format("right here", "left here")),
            "both": ensemble(
                step("left", made="Y=A"),
                step("right", made="Y=B"),
                io=ins() + outs("A") + outs("B"),
            ),
        }
        with cast(target, models) as c:
            found = [c.ask("both"), c.called()]
            for wanted in ("A", "B"):
                found += [c.ask("both", wanted), c.called()]
            return found

    agree(case)


TWO_BY_TWO = tensor([[1, 2], [3, 4]])
CONVERTED = {
    # The ensemble's dims and fields, the model's, and what is asked.
    "batches to none that takes them": (
        ("2", BATCHES),
        ("-1, 2", ""),
        [tensor([[1, 2]]), TWO_BY_TWO],
    ),
    "batches to none that takes one": (
        ("2", BATCHES),
        ("2", ""),
        [tensor([[1, 2]]), TWO_BY_TWO],
    ),
    "none to batches": (("2", ""), ("2", BATCHES), [tensor([1, 2])]),
    "none to batches that it has": (("-1, 2", ""), ("2", BATCHES), [TWO_BY_TWO]),
    "any length to batches": (("-1", ""), ("-1", BATCHES), [tensor([1, 2])]),
    "any rank's length to batches": (
        ("-1, -1", ""),
        ("-1", BATCHES),
        [TWO_BY_TWO, tensor([[1], [2], [3], [4], [5]])],
    ),
    "batches to batches": (("-1", BATCHES), ("2", BATCHES), [TWO_BY_TWO]),
    "batches to smaller rows": (("-1", BATCHES), ("1", BATCHES), [TWO_BY_TWO]),
}


@rows("r4.4/batch-conversion-batching-ensemble-non-batching")
@pytest.mark.parametrize("name", CONVERTED)
def test_batches_are_converted(agree, cast, name):
    """Where one side has them and the other has not."""
    (outer, more), (inner, fields), asked = CONVERTED[name]

    def case(target):
        models = {
            "plus": Written(ADD, model(ins(dims=inner), outs(dims=inner), fields)),
            "m": ensemble(
                step("plus"), io=ins(dims=outer) + outs(dims=outer), more=more
            ),
            "chain": ensemble(
                step("plus", made="Y=M"),
                step("plus", "X=M"),
                io=ins(dims=outer) + outs(dims=outer),
                more=more,
            ),
        }
        with cast(target, models) as c:
            found = [c.loaded]
            for value in asked:
                found += [c.ask(each, give={"X": value}) for each in ("m", "chain")]
            return [found, c.calls()]

    agree(case)


def test_an_ensemble_reshapes_its_own_tensors(agree, cast):
    """Inputs are reshaped on receipt, outputs before they are sent."""
    shaped = (
        "{} {{ name: '{}' data_type: TYPE_FP32 dims: [{}] reshape {{ shape: [{}] }} }} "
    )

    def case(target):
        io = shaped.format("input", "X", "1, 2", "2") + shaped.format(
            "output", "Y", "2, 1", "2"
        )
        models = {"plus": Written(ADD), "m": ensemble(step("plus"), io=io)}
        models["plus2"] = Written(ADD, model(IO, BATCHES))
        models["batched"] = ensemble(step("plus2"), io=io, more=BATCHES)
        with cast(target, models) as c:
            found = [c.loaded, c.ask("m", give={"X": tensor([[1, 2]])})]
            found += [c.ask("batched", give={"X": tensor([[[1, 2]], [[3, 4]]])})]
            return [found, c.calls()]

    agree(case)


FAILS = {
    "error": 'return failure("no")',
    "codes": """
        code = ("UNKNOWN INTERNAL NOT_FOUND INVALID_ARG UNAVAILABLE UNSUPPORTED "
                "ALREADY_EXISTS CANCELLED").split()[int(x_of(request)[0])]
        return failure(code.lower(), code)
    """,
    "raises": 'raise ValueError("boom")',
    "no text": 'return failure("")',
    "with outputs": """
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor("Y", x_of(request))], pb_utils.TritonError("both"))
    """,
}


@rows(
    "r4.4/ensemble-input-outputs-validated-as-3",
    "r4.4/nested-ensembles-nest-the-prefix-in",
)
def test_a_step_that_fails(agree, cast):
    """The ensemble fails with its text and code, for clients and for models."""
    calls = """
        asked = pb_utils.InferenceRequest(
            model_name=request.request_id(), inputs=request.inputs(),
            requested_output_names=["Y"]).exec()
        error = asked.error()
        return failure(f"{error.code()}: {error.message()}") if error else asked
    """

    def case(target):
        models = {name.replace(" ", "_"): Written(code) for name, code in FAILS.items()}
        names = list(models)
        models |= PLAIN
        models |= {
            f"in_{n}": ensemble(
                step("plus", made="Y=M"), step(n, "X=M", "Y=N"), step("double", "X=N")
            )
            for n in names
        }
        models |= {f"of_{n}": ensemble(step(f"in_{n}")) for n in names}
        models["asks"] = Written(calls)
        found = {}
        with cast(target, models, "asks") as c:
            for name in names:
                found[name] = [c.ask(f"in_{name}"), c.ask(f"of_{name}", id="mine")]
                found[name] += [c.ask("asks", id=f"of_{name}"), c.called()]
            found["each"] = [
                c.ask("of_codes", give={"X": tensor([code - 1])}) for code in range(8)
            ]
        return found

    agree(case)


@rows("r4.4/ensemble-input-outputs-validated-as-3")
def test_what_the_ensemble_itself_refuses(agree, cast):
    """Its text is that of any model; that of a step has a prefix."""
    narrow = Written(ADD, model(ins(dims="1"), outs()))

    def case(target):
        models = {"plus": narrow, "double": Written(DOUBLE, model(IO, BATCHES))}
        models["m"] = ensemble(step("plus"))
        models["batched"] = ensemble(
            step("double"), io=ins(dims="-1, -1") + outs(dims="-1, -1")
        )
        models["outer"] = ensemble(step("m"))
        with cast(target, models) as c:
            return [
                c.ask("m", "Q"),
                c.ask("m", give={"Q": tensor([1])}),
                c.ask("m", give={"X": tensor([[1]])}),
                c.ask("m", give={"X": texts("a")}),
                c.ask("m", id="mine"),
                c.ask("outer", id="mine"),
                c.ask("batched", give={"X": tensor([[1]] * 5)}),
                c.ask("batched", give={"X": tensor([[]] * 5)}),
                c.called(),
            ]

    agree(case)


OPTIONAL = ins() + optional("O") + outs()
PAIR = (
    "O = x_of(request, 'O')\nreturn reply(Y=x_of(request) + (10 if O is None else O))"
)


@rows("r4.4/optional-ensemble-input-not-given-not")
def test_inputs_that_may_be_left_out(agree, cast):
    """Are left out of the step; which may need them."""

    def case(target):
        models = {
            "takes": Written(PAIR, model(ins(), optional("O"), outs())),
            "needs": Written(PAIR, model(ins(), ins("O"), outs())),
            "only": Written(
                "return reply(Y=np.ones(1, np.float32))", model(optional("O"), outs())
            ),
        }
        both = "X=X O=O"
        models |= {
            "e_takes": ensemble(step("takes", both), io=OPTIONAL),
            "e_needs": ensemble(step("needs", both), io=OPTIONAL),
            "e_only": ensemble(step("only", "O=O"), io=optional("O") + outs()),
            "e_other": ensemble(
                step("takes", made="Y=M"), step("takes", "X=M O=O"), io=OPTIONAL
            ),
            "nested": ensemble(step("e_takes", both), io=OPTIONAL),
        }
        given = {"X": tensor([1, 2]), "O": tensor([3, 4])}
        with cast(target, models) as c:
            found = [c.loaded]
            for name in ("e_takes", "e_needs", "e_other", "nested"):
                found += [c.ask(name, id="mine"), c.ask(name, give=given)]
                found += [c.calls()]
            found += [c.stream("e_only", give={"O": tensor([1])})]
            found += [c.target.infer(c.request("e_only", (), {"O": tensor([1])}, {}))]
            return [*found, c.calls()]

    agree(case)


@rows(
    "r4.4/a-step-that-does-not-produce",
    "r4.4/produced-tensor-whose-run-time-shape",
)
def test_what_a_step_makes_is_passed_on(agree, cast):
    """Even missing, additional or contradicting outputs are forwarded."""
    makes = {
        "nothing": "return reply()",
        "more": "return reply(Y=x_of(request), Q=x_of(request))",
        "another": "return reply(Q=x_of(request))",
        "shaped": "return reply(Y=x_of(request).reshape(1, -1))",
        "typed": "return reply(Y=x_of(request).astype(np.int32))",
        "empty": "return reply(Y=np.zeros(0, np.float32))",
        "some": "return reply(Y=x_of(request))",
    }

    def case(target):
        models = {
            name: Written(code, model(IO, outs("Z")) if name == "some" else model(IO))
            for name, code in makes.items()
        }
        models |= PLAIN
        for name in makes:
            models[f"end_{name}"] = ensemble(step(name))
            models[f"mid_{name}"] = ensemble(
                step(name, made="Y=M"), step("plus", "X=M")
            )
        models["end_some"] = ensemble(step("some", made="Y=Y Z=Z"), io=IO + outs("Z"))
        models["mid_some"] = ensemble(
            step("some", made="Y=A Z=B"),
            step("plus", "X=A"),
            step("plus", "X=B", "Y=Z"),
            io=IO + outs("Z"),
        )
        models["takes"] = Written(PAIR, model(ins(), optional("O"), outs()))
        models["opt_some"] = ensemble(
            step("some", made="Y=A Z=B"), step("takes", "X=A O=B")
        )
        with cast(target, models) as c:
            found = {"loaded": c.loaded}
            for name in [*models][len(makes) + 2 :]:
                if name != "takes":
                    found[name] = [c.ask(name, id="mine"), c.called()]
            return found

    agree(case)
