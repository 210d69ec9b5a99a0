"""Texts of configurations after accidents: read, or refused with an error of ours."""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, parse_json, parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.model.rules.lint import findings
from blsnb.model.rules.validate import validate_create, validate_poll

from .accepted import ACCEPTED
from .ensembles import JOIN, ensemble, step
from .refusals import CREATE, POLL

SEEDS = sorted(
    {
        *ACCEPTED.values(),
        *(each.pbtxt for each in (*POLL, *CREATE)),
        JOIN,
        ensemble(step("a", made="Y=M"), step("b", "X=M")),
    }
)
SPLICES = (
    *"{}[]<>:;,#\"'\\ \n\t\0",
    "input { ",
    "name: 'a' ",
    "dims: [ -1 ] ",
    "0x",
    "1e999",
    "-9223372036854775809",
    "99999999999999999999",
    "TYPE_",
    "ensemble_scheduling { step { } }",
    "sequence_batching { oldest { } }",
    "parameters { key: '' value { string_value: '\\377' } }",
    "é",
    "\ud800",
    "\\U0010ffff",
)
LONGEST = timedelta(seconds=60)


@st.composite
def broken_texts(draw: st.DrawFn) -> str:
    """A real text after a few accidents."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        upto = at + draw(st.integers(0, 30))
        match draw(st.sampled_from(["cut", "drop", "splice", "repeat", "swap", "mix"])):
            case "cut":
                text = text[:at]
            case "drop":
                text = text[:at] + text[upto:]
            case "splice":
                text = text[:at] + draw(st.sampled_from(SPLICES)) + text[at:]
            case "repeat":
                text = text[:upto] + text[at:]
            case "swap":
                text = text[:at] + draw(st.text(max_size=8)) + text[upto:]
            case "mix":
                text = text[:at] + draw(st.sampled_from(SEEDS)) + text[at:]
    return text


def judge(text: str) -> None:
    """Do with a text what a load does; only an error of ours may be raised."""
    refused = None
    try:
        config = parse_pbtxt(text)
    except ModelConfigError as error:
        refused = error
    if refused is not None:
        assert "poll" == refused.stage
        assert refused.advice
        return
    assert config == parse_pbtxt(config.to_pbtxt())
    findings(config)
    with contextlib.suppress(ModelConfigError):
        check(config)


def check(config: ModelConfig) -> None:
    """Judge a configuration as a load does, until something is wrong in it."""
    config = normalise(config, model_name=config.name or "m")
    validate_poll(config)
    # What reaches a model and comes back says the same.
    assert config == parse_json(config.to_json())
    config.instance_names()
    validate_create(config)
    findings(config)


@settings(max_examples=400, deadline=LONGEST)
@given(broken_texts())
@example("")
@example("input {" * 200)
@example("parameters { key: 'a' value { string_value: '\\n\ud800' } }")
def test_a_broken_text_is_read_or_refused(text):
    """With a reason; whatever it says can be looked at, and written again."""
    judge(text)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=150_000, deadline=LONGEST)
@given(broken_texts())
def test_a_hundred_and_fifty_thousand_broken_texts(text):
    """The same, for minutes."""
    judge(text)


HOSTILE = {
    "deep": "ensemble_scheduling { " * 50_000,
    "deep and closed": "input { reshape { " * 300 + "} }" * 300,
    "long": "input { name: '" + "x" * 2_000_000 + "' }",
    "many": "input { name: 'x' } " * 10_000,
    "blanks": " \n" * 1_000_000,
    "comments": "# x\n" * 200_000,
    "quotes": "name: " + "'a' " * 100_000,
    "a list": "input { dims: [ " + "1, " * 30_000 + "1 ] }",
    "a string that does not end": "name: '" + "\\'" * 500_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_that_is_made_to_be_slow(text):
    """Half a megabyte and more is read, or refused, in seconds."""
    start = time.thread_time()
    judge(text)
    assert time.thread_time() - start < 20
