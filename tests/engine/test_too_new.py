"""Notes on models that use features newer than the imitated release."""

from __future__ import annotations

import pytest
from cells import CONFIG, FINAL, cell

from blsnb import InferenceError, ModelLoadError, Server, WouldHang

DECOUPLED = f"{CONFIG} model_transaction_policy {{ decoupled: true }}"
USES = {
    "argument": (
        'return [pb_utils.InferenceResponse([], parameters={"a": 1})]',
        "25.02",
    ),
    "argument by position": (
        'return [pb_utils.InferenceResponse([], None, {"a": 1})]',
        "25.02",
    ),
    "method": ("return [reply(len(reply(x_of(request)).parameters()))]", "25.02"),
    "cancel": ('ask("callee", request).exec(decoupled=True).cancel()', "25.04"),
}
GUARDED = """
answer = reply(x_of(request))
if hasattr(answer, "parameters"):
    print(answer.parameters())
return [answer]
"""
OTHER_MISTAKE = "return [pb_utils.InferenceResponse(None)]"
IS_READY = """
def is_ready(self):
    return False

"""
AT_LOAD = """
def initialize(self, args):
    pb_utils.InferenceResponse(parameters={})

"""


@pytest.fixture
def old_server():
    """A server that follows the oldest release."""
    with Server(triton_release="24.10") as server:
        server.define("callee", cell("return [reply(x_of(request))]"), config=CONFIG)
        yield server


@pytest.mark.parametrize(("use", "since"), USES.values(), ids=USES)
def test_what_came_later_fails_as_on_triton_with_a_note(old_server, use, since):
    """The text is Triton's; error and run name the release with the feature."""
    old_server.define("m", cell(use), config=CONFIG)

    with pytest.raises(InferenceError) as failed:
        old_server.infer("m", {"X": [1.0]})

    (note,) = [note for note in failed.value.run.notes if "triton_release" in note]
    assert f"since {since}," in note
    assert note == failed.value.advice
    assert "since" not in failed.value.message


def test_a_model_that_checks_for_the_feature_needs_no_note(old_server):
    """It runs on either release."""
    old_server.define("m", cell(GUARDED), config=CONFIG)

    assert [] == old_server.infer("m", {"X": [1.0]}).notes


def test_other_mistakes_are_not_taken_for_it(old_server):
    """Their arguments exist in the release."""
    old_server.define("m", cell(OTHER_MISTAKE), config=CONFIG)

    with pytest.raises(InferenceError) as failed:
        old_server.infer("m", {"X": [1.0]})

    assert ([], "") == (failed.value.run.notes, failed.value.advice)


def test_the_note_is_on_the_call_that_failed(old_server):
    """Another model may have called it."""
    use, since = USES["argument"]
    old_server.define("m", cell(use), config=CONFIG)
    outer = 'ask("m", request, trace=request.trace()).exec().has_error()'
    old_server.define(
        "outer", cell(f"{outer}\nreturn [reply(x_of(request))]"), config=CONFIG
    )

    spans = old_server.infer("outer", {"X": [1.0]}).trace.spans

    assert () == spans[0].notes
    assert f"since {since}," in spans[1].notes[0]


def test_an_asynchronous_stream_that_ends_by_it_says_so(old_server):
    """Triton only logs the exception."""
    lines = f"{USES['argument'][0]}\nrequest.get_response_sender().send(flags={FINAL})"
    old_server.define("m", cell(lines, asynchronous=True), config=DECOUPLED)

    with pytest.raises(WouldHang) as failed:
        list(old_server.stream("m", {"X": [1.0]}))

    assert "since 25.02," in failed.value.advice


def test_a_load_that_fails_by_it_says_so(old_server):
    """The advice follows Triton's text."""
    source = cell("return [reply(x_of(request))]", methods=AT_LOAD)

    with pytest.raises(ModelLoadError) as failed:
        old_server.define("m", source, config=CONFIG)

    assert "since 25.02," in failed.value.advice
    assert "since" not in failed.value.message


def test_an_ignored_is_ready_is_noted_in_the_first_run(old_server):
    """Triton ignores it silently."""
    source = cell("return [reply(x_of(request))]", methods=IS_READY)
    old_server.define("m", source, config=CONFIG)

    (note,) = old_server.infer("m", {"X": [1.0]}).notes

    assert "is_ready()" in note
    assert "since 26.03," in note
    assert [] == old_server.infer("m", {"X": [1.0]}).notes


def test_no_note_on_a_release_that_has_it(server):
    """The newest release has all features."""
    lines = 'return [pb_utils.InferenceResponse([], parameters={"a": 1})]'
    server.define("m", cell(lines), config=CONFIG)

    run = server.infer("m", {"X": [0.0]})

    assert [] == [note for note in run.notes if "triton_release" in note]
