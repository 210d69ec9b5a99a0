"""Damaged texts of configurations are parsed, or refused with an error of blsnb."""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import examples

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
    """Draw a valid text with some damage."""
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
    """Process a text as a load does; only errors of blsnb may occur."""
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
    """Check a configuration as a load does, up to its first error."""
    config = normalise(config, model_name=config.name or "m")
    validate_poll(config)
    # The JSON form of a model is equivalent.
    assert config == parse_json(config.to_json())
    config.instance_names()
    validate_create(config)
    findings(config)


@examples(400, deadline=LONGEST)
@given(broken_texts())
@example("")
@example("input {" * 200)
@example("parameters { key: 'a' value { string_value: '\\n\ud800' } }")
@example("input { name: 'a' data_type: '\ud800' }")
def test_a_damaged_text_is_parsed_or_refused(text):
    """A refusal has a reason; a parsed configuration can be printed."""
    judge(text)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_damaged_texts_are_parsed_or_refused(figures):
    """The same with 150,000 texts."""

    @settings(max_examples=150_000, deadline=LONGEST)
    @given(broken_texts())
    def check(text):
        judge(text)

    check()
    figures(damaged_configurations=150_000)


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
def test_large_and_nested_texts_take_seconds_at_most(text):
    """They have half a megabyte and more."""
    start = time.thread_time()
    judge(text)
    assert time.thread_time() - start < 20
