"""Specification of answers to a page: the newest query of a slot, each exactly once."""

from functools import partial

import pytest

from blsnb.views.documents import wire
from blsnb.views.live.answers import Answers
from blsnb.views.live.queries import VERSION, answer_about, gone

from ..samples import invoice_run

RUN = wire.page_id(invoice_run())


@pytest.fixture
def sent():
    """Messages to the page."""
    return []


@pytest.fixture
def later():
    """Work for another thread."""
    return []


@pytest.fixture
def answers(sent, later):
    """Answers that wait until they are served."""

    def find(run):
        if run != RUN:
            raise gone()
        return invoice_run()

    def send(content, buffers):
        sent.append(content)

    return Answers(partial(answer_about, find), send, later.append)


def query(number, slot, run=RUN):
    return dict(v=1, type="tensors", id=number, slot=slot, run=run, call=0)


def outcomes(sent):
    return {each["id"]: each.get("error", {}).get("code") for each in sent}


def test_a_long_error_is_cut(answers, sent, later):
    """A page may send any text, and an answer repeats it."""
    answers.receive({**query(1, "a"), "call": "x" * 10_000})
    later[0]()

    assert 4096 == len(sent[0]["error"]["text"].encode())


def test_of_the_queries_of_a_slot_that_wait_the_newest_is_served(answers, sent, later):
    """The others are answered as superseded; other slots are not affected."""
    for number, slot in enumerate("aaba"):
        answers.receive(query(number, slot))
    assert [] == sent
    for serve in later:
        serve()

    expected = {0: "superseded", 1: "superseded", 2: None, 3: None}
    assert expected == outcomes(sent)
    assert "a newer query of its slot is served" == sent[0]["error"]["text"]
    assert sent[-1]["tensors"]


def test_a_fault_is_an_answer_and_logged(sent, later, caplog):
    """Without an answer the page would show a busy kernel indefinitely."""

    def fail(query, buffer):
        raise ZeroDivisionError("by zero")

    answers = Answers(fail, lambda content, buffers: sent.append(content), later.append)
    asked = query(7, None)
    answers.receive(asked)
    later.pop()()

    answer = {"error": {"code": "failed", "text": "ZeroDivisionError: by zero"}}
    assert [{"v": VERSION, "type": "answer", "id": 7, **answer}] == sent
    assert [f"a query failed: {asked}"] == caplog.messages


def test_a_query_without_a_slot_is_superseded_by_none(answers, sent, later):
    """Pages of earlier releases name no slot."""
    for number in range(2):
        answers.receive(query(number, None))
    for serve in later:
        serve()

    assert {0: None, 1: None} == outcomes(sent)


def test_a_run_of_another_kernel_is_gone(answers, sent, later):
    """The page then asks its other kernels."""
    answers.receive(query(1, "a", run="00a3-77"))
    later.pop()()

    assert {1: "gone"} == outcomes(sent)
