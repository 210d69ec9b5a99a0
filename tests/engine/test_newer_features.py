"""What Triton got after 24.10: response parameters, cancel(), a model's is_ready()."""

from __future__ import annotations

import threading

import pytest
import stage
from cells import CONFIG, DOUBLE, FINAL, cell, instances

from blsnb import Server
from blsnb.engine.instance import instance_threads
from blsnb.errors import InferenceError, ModelLoadError

X = {"X": [1.0]}
DECOUPLED = f"{CONFIG} model_transaction_policy {{ decoupled: true }}"
GIVEN = {"a": 1, "b": True, "c": "é"}
WITH_PARAMETERS = cell(
    f"return [pb_utils.InferenceResponse([], parameters={GIVEN!r})]",
)
ASK = 'ask("callee", request, trace=request.trace())'


def define(server, callee, caller="", config=CONFIG):
    """Define a model and another one that calls it."""
    server.define("callee", callee, config=config)
    if caller:
        server.define("m", cell(caller), config=CONFIG)


def test_parameters_of_a_response_reach_the_client(server):
    """They are plain values."""
    define(server, WITH_PARAMETERS)

    assert [GIVEN] == [r.parameters for r in server.infer("callee", X).responses]


def test_parameters_of_every_response_of_a_stream_reach_the_client(server):
    """Each response has its own."""
    send = "sender.send(pb_utils.InferenceResponse([], parameters={'n': %d}))\n"
    lines = f"sender = request.get_response_sender()\n{send % 0}{send % 1}"
    define(server, cell(f"{lines}sender.send(flags={FINAL})"), config=DECOUPLED)

    seen = [response.parameters for response in server.stream("callee", X)]
    assert [{"n": 0}, {"n": 1}, {}] == seen


def test_parameters_of_a_response_reach_a_caller_as_text(server):
    """They are the JSON text of a request; without parameters an empty object."""
    caller = f"""
    answer = {ASK}.exec()
    stage.seen.append([answer.parameters(), reply(x_of(request)).parameters()])
    return [reply(x_of(request))]
    """
    define(server, WITH_PARAMETERS, caller)
    server.infer("m", X)

    assert [['{"a":1,"b":true,"c":"é"}', "{}"]] == stage.seen


ENSEMBLE = """
ensemble_scheduling {
  step { model_name: "first" model_version: -1
    input_map { key: "X" value: "X" } output_map { key: "Y" value: "M" } }
  step { model_name: "second" model_version: -1
    input_map { key: "X" value: "M" } output_map { key: "Y" value: "Y" } }
}
"""


def define_steps(server, parameters):
    """Define an ensemble whose first step's responses have parameters."""
    x = 'pb_utils.Tensor("Y", x_of(request))'
    given = f"return [pb_utils.InferenceResponse([{x}], parameters={parameters!r})]"
    sees = "stage.seen.append((request.correlation_id(), request.flags()))"
    server.define("first", cell(given), config=CONFIG)
    server.define(
        "second", cell(f"{sees}\nreturn [reply(x_of(request))]"), config=CONFIG
    )
    server.define("steps", None, config=f'platform: "ensemble" {CONFIG} {ENSEMBLE}')


@pytest.mark.parametrize(
    ("parameters", "seen"),
    [
        ({"a": 1}, (7, 1)),
        ({"sequence_id": 42}, (42, 0)),
        ({"sequence_id": -1}, (2**64 - 1, 0)),
        ({"sequence_id": "x", "sequence_start": True, "sequence_end": True}, ("x", 3)),
        ({"sequence_end": True}, (7, 2)),
        ({"sequence_start": False}, (7, 0)),
    ],
)
def test_parameters_of_a_response_name_the_sequence_of_the_next_step(
    server, parameters, seen
):
    """A flag that is not among them is not set."""
    define_steps(server, parameters)
    server.infer("steps", X, correlation_id=7, sequence_start=True)

    assert [seen] == stage.seen


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        (
            {"sequence_id": True},
            "expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or "
            "TRITONSERVER_PARAMETER_STRING",
        ),
        (
            {"sequence_start": 1},
            "expect parameter 'sequence_start' to be TRITONSERVER_PARAMETER_BOOL",
        ),
        (
            {"sequence_end": "yes"},
            "expect parameter 'sequence_end' to be TRITONSERVER_PARAMETER_BOOL",
        ),
    ],
)
def test_a_response_that_names_no_sequence_ends_its_ensemble(server, parameters, text):
    """The text is that of Triton's core."""
    define_steps(server, parameters)

    with pytest.raises(InferenceError) as raised:
        server.infer("steps", X)

    assert ("INVALID_ARG", f"in ensemble 'steps', {text}") == (
        raised.value.code,
        raised.value.message,
    )
    assert [] == stage.seen


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ("[1]", "Expect N8pybind114dictE, got <class 'list'>"),
        ("{1: 1}", "Expect parameters keys to have type str, found type <class 'int'>"),
        (
            '{"a": 1.5}',
            "Expect parameters values to have type bool/int/str, found type "
            "<class 'float'>",
        ),
        ('{"a": 2**63}', "Unsupported value type on parameters"),
    ],
)
def test_parameters_that_a_response_cannot_have(server, parameters, text):
    """They are refused by the constructor; too large numbers are refused by send."""
    source = f"return [pb_utils.InferenceResponse([], parameters={parameters})]"
    define(server, cell(source))

    with pytest.raises(InferenceError) as failed:
        server.infer("callee", X)

    assert text in failed.value.message


SEND = "sender.send(reply(x_of(request)))"
FAIL = "sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError('no')))"
END = f"sender.send(flags={FINAL})"
RAISE = "raise ValueError('boom')"
LOST = "passes an error on to the calling model only if it is the first response"


@pytest.mark.parametrize(
    ("release", "lines", "failed", "noted"),
    [
        ("24.10", (SEND, RAISE), [False, True], True),
        ("24.10", (FAIL, END), [True, False], True),
        ("24.10", (SEND, FAIL, END), [False, True, False], True),
        ("24.10", (RAISE,), [True], False),
        ("24.10", (SEND, END), [False, False], False),
        ("25.04", (SEND, RAISE), [False, True], False),
    ],
)
def test_an_error_beside_responses_reaches_the_caller(release, lines, failed, noted):
    """Before 25.04 Triton loses it, or the caller hangs: a note says so."""
    caller = f"""
    stage.seen.append([r.has_error() for r in {ASK}.exec(decoupled=True)])
    return [reply(x_of(request))]
    """
    with Server(triton_release=release) as server:
        source = "\n".join(["sender = request.get_response_sender()", *lines])
        define(server, cell(source), config=DECOUPLED)
        server.define("m", cell(caller), config=CONFIG)
        run = server.infer("m", X)

    assert [failed] == stage.seen
    notes = [note for span in run.trace.spans for note in span.notes]
    assert noted == any(LOST in text for text in notes)


ENDLESS = """
sender = request.get_response_sender()
while not sender.is_cancelled():
    sender.send(reply(x_of(request)))
stage.events["stopped"].set()
sender.send(flags=%s)
""" % (FINAL,)  # noqa: UP031 (the lines have braces)


def test_a_caller_cancels_a_stream(server):
    """The sending model can check for it; cancelling twice is harmless."""
    caller = f"""
    responses = {ASK}.exec(decoupled=True)
    next(responses)
    stage.seen.append([responses.cancel(), responses.cancel()])
    stage.events["stopped"].wait(60)
    *_, last = responses
    stage.seen.append(len(last.output_tensors()))
    return [reply(x_of(request))]
    """
    define(server, cell(ENDLESS), caller, config=DECOUPLED)
    server.infer("m", X)

    assert [[None, None], 0] == stage.seen


def test_cancelling_what_has_ended_changes_nothing(server):
    """Its responses can be read again."""
    caller = f"""
    responses = {ASK}.exec(decoupled=True)
    before = len(list(responses))
    responses.cancel()
    stage.seen.append([before, len(list(responses))])
    return [reply(x_of(request))]
    """
    define(server, DOUBLE, caller)
    server.infer("m", X)

    assert [[1, 1]] == stage.seen


def with_is_ready(line, asynchronous=False):
    """Return a model with an `is_ready` of this line."""
    kind = "async def" if asynchronous else "def"
    return cell(
        "return [reply(x_of(request))]",
        methods=f"\n{kind} is_ready(self):\n    {line}\n\n",
    )


READY = {
    "yes": ("return True", True),
    "no": ("return False", False),
    "no bool": ("return 1", False),
    "nothing": ("pass", False),
    "an error": ("raise ValueError('no')", False),
}
ASKED = f"""
answer = {ASK}.exec()
told = answer.error().message() if answer.has_error() else "an answer"
stage.seen.append([pb_utils.is_model_ready("callee"), told])
return [reply(x_of(request))]
"""
REFUSED = (
    "Model callee - Error when running inference: Failed for execute the inference "
    "request. Model 'callee' is not ready."
)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "asynchronous"])
@pytest.mark.parametrize(("line", "expected"), READY.values(), ids=READY)
def test_is_ready_decides_for_clients_and_models(server, line, expected, asynchronous):
    """Other models cannot call it while it is not ready; clients can."""
    define(server, with_is_ready(line, asynchronous), ASKED)
    server.infer("m", X)

    assert [[expected, "an answer" if expected else REFUSED]] == stage.seen
    assert [1.0] == server.infer("callee", X)["Y"].tolist()


def test_a_model_whose_is_ready_hangs_is_not_ready(server, monkeypatch):
    """Triton waits five seconds for the result."""
    monkeypatch.setattr(instance_threads, "_PATIENCE_S", 0.01)
    define(server, with_is_ready("stage.sleep()"), ASKED)
    server.infer("m", X)

    assert [[False, REFUSED]] == stage.seen


PATH = "model name must not contain path traversal characters"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "Model name cannot be empty. Please enter a valid name to deploy."),
        ("..", f"invalid model name '..', {PATH}"),
        ("a/b", f"invalid model name 'a/b', {PATH}"),
    ],
)
def test_an_invalid_name_is_not_loaded(server, name, text):
    """Older releases search for it, and find no such model."""
    with pytest.raises(ModelLoadError) as refused:
        server.load(name)
    assert (text, "INVALID_ARG", "poll") == (
        refused.value.message,
        refused.value.code,
        refused.value.stage,
    )

    with Server(triton_release="24.10") as older:
        with pytest.raises(ModelLoadError) as refused:
            older.load(name)
        found = refused.value.message
        assert f"failed to load '{name}', failed to poll from model repository" == found


STREAM = """
sender = request.get_response_sender()
for number in range(6):
    sender.send(reply(x_of(request) + number))
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
COUNTED = """
with stage.values["lock"]:
    stage.values["now"] += 1
    stage.values["most"] = max(stage.values["most"], stage.values["now"])
threading.Event().wait(0.002)
with stage.values["lock"]:
    stage.values["now"] -= 1
return [reply(x_of(request))]
"""
LIMITED = """
platform: "ensemble"
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
ensemble_scheduling { max_inflight_requests: 2 step [
  { model_name: "stream" model_version: -1
    input_map { key: "X" value: "X" } output_map { key: "Y" value: "M" } },
  { model_name: "counted" model_version: -1
    input_map { key: "X" value: "M" } output_map { key: "Y" value: "Y" } } ] }
"""


def test_a_step_never_has_more_requests_than_an_ensemble_allows(server):
    """A stream waits for the following steps, with or without a limit."""
    stage.values.update(lock=threading.Lock(), now=0, most=0)
    server.define("stream", cell(STREAM), config=DECOUPLED)
    server.define("counted", cell(COUNTED), config=instances(4))
    server.define("limited", None, config=LIMITED)

    stream = server.stream("limited", X)
    answers = [each["Y"].tolist() for each in stream if not each.final]

    assert [[1.0 + number] for number in range(6)] == answers
    assert stage.values["most"] <= 2
