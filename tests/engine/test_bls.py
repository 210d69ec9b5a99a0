"""What a model that calls another one sees, and what is recorded of it."""

from __future__ import annotations

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, FINAL, calling, cell
from waiting import until

from blsnb import InferenceError, Server
from blsnb.parts.server_parts import parts_of

DECOUPLED = f"{CONFIG}model_transaction_policy {{ decoupled: true }}"
X = {"X": np.array([1, 2], np.float32)}
NOTE_ERROR = """
error = ask("{}", request).exec().error()
stage.seen.append((error.message(), error.code().name))
return [reply(x_of(request))]
"""
NOT_FOUND = 'pb_utils.TritonError("gone", pb_utils.TritonError.NOT_FOUND)'
FAILING = cell(f"return [pb_utils.InferenceResponse(error={NOT_FOUND})]")


def error_of(server: Server, name: str) -> tuple[str, str]:
    """Return text and code that the caller of a model receives."""
    server.define("asking", cell(NOTE_ERROR.format(name)), config=CONFIG)
    server.infer("asking", X)
    return stage.seen.pop()


def test_a_failing_callee_is_a_value(server):
    """Nothing is raised, and the caller may continue."""
    server.define("bad", cell("raise ValueError('boom')"), config=CONFIG)
    text, code = error_of(server, "bad")

    start = "Failed to process the request(s) for model 'bad_0', message: "
    assert text.startswith(f"{start}ValueError: boom\n\nAt:\n")
    assert "INTERNAL" == code


@pytest.mark.parametrize(
    ("release", "code"), [("24.10", "INTERNAL"), ("25.04", "NOT_FOUND")]
)
def test_codes_of_a_callee_are_kept_since_25_04(release, code):
    """Earlier releases report INTERNAL."""
    with Server(triton_release=release) as server:
        server.define("failing", FAILING, config=CONFIG)

        assert ("gone", code) == error_of(server, "failing")


@pytest.mark.parametrize(
    ("release", "text"),
    [
        (
            "24.10",
            "Model nobody - Error when running inference: Failed for execute the "
            "inference request. Model 'nobody' is not ready.",
        ),
        (
            "25.04",
            "Model nobody - Error when running inference: Request for unknown model: "
            "'nobody' is not found",
        ),
    ],
)
def test_an_unknown_callee(release, text):
    """The text is that of the release."""
    with Server(triton_release=release) as server:
        assert (text, "INTERNAL") == error_of(server, "nobody")


def test_a_refused_call_is_a_value(server):
    """Inputs are validated like a client's, with the prefix of BLS."""
    config = CONFIG.replace("TYPE_FP32", "TYPE_INT32")
    server.define("ints", DOUBLE, config=config)

    assert (
        "Model ints - Error when running inference: [request id: <id_unknown>] "
        "inference input 'X' data-type is 'FP32', but model 'ints' expects 'INT32'",
        "INTERNAL",
    ) == error_of(server, "ints")


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("nobody", "", "Request for unknown model: 'nobody' is not found"),
        ("double", ", parameters={'k': 2**63}", "Unsupported value type on parameters"),
    ],
)
def test_each_refused_call_is_in_the_trace(server, name, options, text, decoupled):
    """With its line and the reason, also if it names no model that serves."""
    body = f"""
    asked = ask("{name}", request{options}).exec(decoupled={decoupled})
    [error] = [each.error() for each in ([asked] if not {decoupled} else asked)]
    stage.seen.append(error.message())
    return [reply(x_of(request))]
    """
    server.define("double", DOUBLE, config=CONFIG)
    server.define("asking", cell(body), config=CONFIG)
    trace = server.infer("asking", X).trace
    _, refused = trace.spans

    assert stage.seen[0].endswith(text)
    assert (text, 0) == (refused.error, refused.parent)
    assert name == trace.models[refused.model].name
    assert refused.line > 0


def test_a_call_belongs_to_the_request_that_runs(server):
    """Without ``trace=`` it belongs to the current request."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("outer", calling("double"), config=CONFIG)

    assert [-1, 0] == [s.parent for s in server.infer("outer", X).trace.spans]


def test_a_call_belongs_to_the_request_it_names(server):
    """``trace=request.trace()`` works on a thread after ``execute``, too."""
    body = f"""
    sender, x = request.get_response_sender(), x_of(request)

    def later():
        asked = ask("double", request, trace=request.trace())
        sender.send(reply(answer_of(asked.exec())), flags={FINAL})

    threading.Thread(target=later).start()
    """
    server.define("double", DOUBLE, config=CONFIG)
    server.define("outer", cell(body), config=CONFIG)
    run = server.infer("outer", X)

    assert [2, 4] == run["Y"].tolist()
    assert [("outer", -1), ("double", 0)] == [
        (run.trace.models[span.model].name, span.parent) for span in run.trace.spans
    ]


def test_the_mark_of_an_old_request_is_forgotten(server):
    """A call is never added to a run that has ended."""
    body = """
    if self.mark is None:
        self.mark = request.trace()
    answer = ask("double", request, trace=self.mark).exec()
    return [reply(answer_of(answer))]
    """
    server.define("double", DOUBLE, config=CONFIG)
    server.define("outer", cell(body, methods="mark = None\n"), config=CONFIG)
    runs = [server.infer("outer", X) for _ in range(2)]

    assert [2, 2] == [len(run.trace.spans) for run in runs]


def test_flags_set_by_a_receiver_are_its_own(server):
    """Setting them again does not change a request that was sent."""
    body = """
    first = ask("marking", request)
    answers = [first.exec()]
    kept = first.flags()
    first.set_flags(2)
    answers.append(first.exec())
    stage.seen.append((kept, first.flags(), request.flags()))
    return [reply(answer_of(answers[1]))]
    """
    marking = "request.set_flags(1); stage.seen.append(request.flags())"
    server.define(
        "marking", cell(f"{marking}; return [reply(x_of(request))]"), config=CONFIG
    )
    server.define("outer", cell(body), config=CONFIG)
    run = server.infer("outer", X)

    assert [1, 1, (0, 2, 0)] == stage.seen
    assert [0, 0, 2] == [span.request_fields.flags for span in run.trace.spans]


def test_values_cross_and_buffers_do_not(server):
    """A callee's writes to its input reach neither caller nor trace."""
    inner = cell(
        """
        x = x_of(request)
        x[:] = 9
        return [reply(x)]
        """
    )
    outer = cell(
        """
        mine = x_of(request)
        answer = answer_of(ask("inner", request).exec())
        stage.seen += [mine.tolist(), answer.tolist()]
        answer[:] = 7
        return [reply(mine)]
        """
    )
    server.define("inner", inner, config=CONFIG)
    server.define("outer", outer, config=CONFIG)
    run = server.infer("outer", X)

    assert [[1, 2], [9, 9]] == stage.seen
    outer_span, inner_span = run.trace.spans
    assert [1, 2] == inner_span.inputs[0].view().tolist()
    assert [9, 9] == inner_span.outputs[0].view().tolist()
    assert [1, 2] == outer_span.outputs[0].view().tolist()
    assert [1, 2] == X["X"].tolist()


def test_the_first_transmission_freezes_a_tensor(server):
    """Later changes of its array are not sent."""
    body = """
    array = x_of(request).copy()
    tensor = pb_utils.Tensor("X", array)

    def send():
        asked = pb_utils.InferenceRequest(
            model_name="double", inputs=[tensor], requested_output_names=["Y"]
        )
        return answer_of(asked.exec()).tolist()

    array[:] = 5
    stage.seen.append(send())
    array[:] = 6
    stage.seen.append(send())
    return [reply(array)]
    """
    server.define("double", DOUBLE, config=CONFIG)
    server.define("outer", cell(body), config=CONFIG)
    run = server.infer("outer", X)

    assert [[10, 10], [10, 10]] == stage.seen
    assert [6, 6] == run["Y"].tolist()


def test_bls_outside_any_model_is_refused(server):
    """The module in a notebook belongs to no instance."""
    import triton_python_backend_utils as pb_utils

    request = pb_utils.InferenceRequest(
        model_name="double", inputs=[], requested_output_names=[]
    )
    with pytest.raises(pb_utils.TritonModelException, match="only supported during"):
        request.exec()


def test_a_sender_of_an_ended_request_is_silent(server, capfd):
    """A thread that responds too late continues; its response is dropped."""
    body = f"""
    sender, x = request.get_response_sender(), x_of(request)

    def later():
        stage.events["ended"].wait(60)
        sender.send(reply(x), flags={FINAL})
        stage.events["sent"].set()

    threading.Thread(target=later).start()
    ask("silent", request).exec()
    """
    server.define("silent", cell("return None"), config=CONFIG)
    server.define("outer", cell(body), config=CONFIG)
    with pytest.raises(InferenceError):
        server.infer("outer", X)

    stage.events["ended"].set()

    assert stage.events["sent"].wait(60)
    assert "" == capfd.readouterr().err


def test_a_thread_learns_why_its_call_was_ended(server):
    """Without a client the reason is the error of the response."""
    body = """
    def later():
        stage.events["returned"].wait(60)
        stage.seen.append(ask("silent", request).exec().error().message())
        stage.events["asked"].set()

    threading.Thread(target=later).start()
    return [reply(x_of(request))]
    """
    server.define("silent", cell("return None"), config=CONFIG)
    server.define("outer", cell(body), config=CONFIG)
    server.infer("outer", X)

    stage.events["returned"].set()

    assert stage.events["asked"].wait(60)
    assert "Triton would wait here forever" in stage.seen[0]


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("name", ["double", "streaming", "nobody"])
def test_a_call_outside_any_request_ends_its_run(server, name, decoupled):
    """Also if it is refused: the runs of a long thread do not pile up."""
    body = f"""
    def later():
        stage.events["returned"].wait(60)
        asked = ask("{name}", request).exec(decoupled={decoupled})
        stage.seen.append(len([*asked]) if {decoupled} else 1)
        stage.events["asked"].set()

    threading.Thread(target=later).start()
    return [reply(x_of(request))]
    """
    streaming = f"request.get_response_sender().send(reply(x_of(request)), {FINAL})"
    server.define("double", DOUBLE, config=CONFIG)
    server.define("streaming", cell(streaming), config=DECOUPLED)
    server.define("outer", cell(body), config=CONFIG)
    server.infer("outer", X)

    stage.events["returned"].set()

    assert stage.events["asked"].wait(60)
    _, record = parts_of(server).recorder.runs
    assert until(lambda: record.ended)
    assert 1 == len(record.calls)


def test_a_model_that_a_coroutine_calls_is_the_parent_of_its_own_calls(server):
    """The coroutine runs on its event loop, and so does the model that it calls."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("middle", calling("double"), config=CONFIG)
    calls = 'return [reply(answer_of(ask("middle", request).exec()))]'
    server.define("outer", cell(calls, asynchronous=True), config=CONFIG)

    spans = server.infer("outer", X).trace.spans

    assert [-1, 0, 1] == [span.parent for span in spans]
