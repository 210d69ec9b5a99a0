"""The fields of a request: made of a client's options, and shown by every function."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from asserting import some
from IPython.core.completer import IPCompleter, provisionalcompleter

import blsnb
from blsnb.errors import InputError
from blsnb.request_fields import (
    PLAIN,
    RequestFields,
    RequestOptions,
    check_request,
    check_timeout,
    fields_of,
    plain_options,
    received_fields,
    spelled,
)

EVERY = RequestFields(3, "s", 3, 5, 1, (("k", 1),), "mine")
OPTIONS: RequestOptions = {
    "version": 3,
    "correlation_id": "s",
    "sequence_start": True,
    "sequence_end": True,
    "timeout_us": 5,
    "priority": 1,
    "parameters": {"k": 1},
    "request_id": "mine",
}
FUNCTIONS = (
    blsnb.infer,
    blsnb.async_infer,
    blsnb.stream,
    blsnb.Server.infer,
    blsnb.Server.async_infer,
    blsnb.Server.stream,
    blsnb.Server.async_stream,
    blsnb.Server.bench,
)


def test_options_become_fields():
    """Each option has its field."""
    assert EVERY == fields_of(OPTIONS)


def test_a_request_without_options_has_the_fields_of_most_requests():
    """All such requests share one value."""
    assert PLAIN is fields_of({})
    assert PLAIN == fields_of({"version": None, "parameters": None})


def test_fields_survive_the_parameters_of_a_network_client():
    """An endpoint reads what the stand-in of a remote model sends."""
    custom = dict(EVERY.parameters)

    assert EVERY == received_fields(3, "mine", EVERY.reserved, custom)
    assert {} == PLAIN.reserved


def test_an_unknown_option_is_refused_with_the_known_ones():
    """Every function refuses it, and knows a similar one."""
    known = (
        "outputs, version, parameters, request_id, correlation_id, sequence_start, "
        "sequence_end, priority, timeout_us, client_timeout_s, show"
    )
    texts = {
        "infer": f"{known}, profile. Did you mean 'priority'?",
        "async_stream": f"{known}, profile. Did you mean 'priority'?",
        "bench": f"{known}. Did you mean 'priority'?",
    }
    for method, text in some(texts.items()):
        with pytest.raises(InputError) as refused:
            fields_of({"z": 1, "prioriti": 1}, method)
        begin = f"{method}() has no option 'prioriti', 'z'; its options for a request"
        assert f"{begin} are {text}" == str(refused.value)
    with pytest.raises(
        InputError, match=r"^stream\(\) has no option 'oops'; .*profile.$"
    ):
        blsnb.stream("model", {}, oops=1)


WHOLE = "a number from 0 to 2**64 - 1"
SIGNED = "a number from -2**63 to 2**63 - 1"
KINDS = "a bool, a number or a string"


@pytest.mark.parametrize(
    ("option", "found", "expected"),
    [
        ({"priority": "high"}, "priority='high'", "a number"),
        ({"priority": 1.5}, "priority=1.5", "a number"),
        ({"priority": 2**64}, "priority=18446744073709551616", WHOLE),
        ({"timeout_us": -1}, "timeout_us=-1", WHOLE),
        ({"sequence_start": "no"}, "sequence_start='no'", "True or False"),
        ({"sequence_end": 2}, "sequence_end=2", "True or False"),
        ({"correlation_id": 1.5}, "correlation_id=1.5", "a number or string"),
        ({"correlation_id": -1}, "correlation_id=-1", WHOLE),
        (
            {"correlation_id": "\ud800"},
            r"correlation_id='\ud800'",
            "no half of a surrogate pair",
        ),
        ({"request_id": 5}, "request_id=5", "a string"),
        ({"version": "1"}, "version='1'", "a number"),
        ({"show": 1}, "show=1", "True or False"),
        ({"parameters": 5}, "parameters=5", "a dict"),
        ({"parameters": {5: 1}}, "name of a parameter=5", "a string"),
        ({"parameters": {"k": [1]}}, "parameters['k']=[1]", KINDS),
        (
            {"parameters": {"k": 2**63}},
            "parameters['k']=9223372036854775808",
            SIGNED,
        ),
        (
            {"parameters": {"k": -(2**63) - 1}},
            "parameters['k']=-9223372036854775809",
            SIGNED,
        ),
        (
            {"parameters": {"k": "\ud800"}},
            r"parameters['k']='\ud800'",
            "no half of a surrogate pair",
        ),
    ],
)
def test_an_invalid_value_is_refused(option, found, expected):
    """The error has the value found, and what was expected."""
    with pytest.raises(InputError) as refused:
        fields_of(option)
    assert f"{found} is not valid; expected {expected}" == str(refused.value)


def test_the_largest_numbers_are_those_of_the_protocol():
    """Fields are unsigned, and custom parameters are signed."""
    ends = {"least": -(2**63), "most": 2**63 - 1}
    whole = 2**64 - 1
    found = fields_of(
        {
            "priority": whole,
            "timeout_us": whole,
            "correlation_id": whole,
            "parameters": ends,
        }
    )

    assert (-1, whole, 0, whole, whole, tuple(ends.items()), "") == found


def test_each_flag_is_that_of_its_option():
    """A request may have one of them."""
    assert (1, 2) == (
        fields_of({"sequence_start": True}).flags,
        fields_of({"sequence_end": True}).flags,
    )
    assert {"sequence_id": 7, "sequence_start": True, "sequence_end": False} == (
        RequestFields(correlation_id=7, flags=1).reserved
    )


def test_fields_become_the_options_that_are_not_defaults():
    """They are written as arguments."""
    assert OPTIONS == EVERY.options
    assert {} == PLAIN.options
    assert {"sequence_end": True} == RequestFields(flags=2).options
    assert "version=2, request_id='a'" == spelled(
        RequestFields(2, request_id="a").options
    )
    assert {"version": 0} == RequestFields(0).options


def test_network_clients_send_some_fields_as_parameters():
    """Their names are those that Triton reserves."""
    assert {
        "sequence_id": "s",
        "sequence_start": True,
        "sequence_end": True,
        "timeout": 5,
        "priority": 1,
    } == EVERY.reserved
    assert PLAIN == received_fields(-1, "", {}, {})


def test_messages_begin_with_the_id_of_the_request():
    """Triton has a name for a missing one."""
    assert "[request id: mine] " == EVERY.prefix
    assert "[request id: <id_unknown>] " == PLAIN.prefix


def test_options_of_numpy_become_those_of_python():
    """A list of names may be an array; a mapping keeps its names."""
    found = plain_options(
        {
            "outputs": np.array(["A", "B"]),
            "priority": np.int64(2),
            "parameters": {"k": np.float64(0.5)},
        }
    )

    assert {
        "outputs": ["A", "B"],
        "priority": 2,
        "parameters": {"k": 0.5},
    } == found
    assert [list, int, float] == [
        type(each)
        for each in (found["outputs"], found["priority"], found["parameters"]["k"])
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((5, {}, {}), "model_name=5 is not valid; expected a string"),
        (("m", 5, {}), "inputs=5 is not valid; expected a dict of names and values"),
        (
            ("m", {5: 1}, {}),
            "inputs={5: 1} is not valid; expected a dict whose keys are strings",
        ),
        (
            ("m", {}, {"outputs": "Y"}),
            "outputs must be a list of names, not the string 'Y'; write outputs=['Y']",
        ),
        (
            ("m", {}, {"outputs": 5}),
            "outputs=5 is not valid; expected a list of names",
        ),
        (
            ("m", {}, {"outputs": [5]}),
            "outputs=[5] is not valid; expected a list of names",
        ),
        (
            ("m", {}, {"client_timeout_s": "1"}),
            "client_timeout_s='1' is not valid; expected seconds",
        ),
    ],
)
def test_other_arguments_of_a_request_are_checked(arguments, expected):
    """A single name is a frequent mistake."""
    check_request("m", {"X": 1}, {"outputs": ("Y",), "client_timeout_s": 1})
    with pytest.raises(InputError) as refused:
        check_request(*arguments)
    assert expected == str(refused.value)


@pytest.mark.parametrize("seconds", [None, 0, 1.5, math.inf, math.nextafter(2**63, 0)])
def test_a_time_limit_is_a_number_of_seconds(seconds):
    """Infinity is one; what no clock counts is not."""
    check_timeout(seconds)
    for other in (2**63, math.nan, 10**400, "1"):
        with pytest.raises(InputError, match=r"^client_timeout_s=.*expected seconds$"):
            check_timeout(other)


def test_numbers_of_numpy_are_numbers():
    """They may come from arrays of requests."""
    assert 2 == fields_of({"priority": np.int64(2)}).priority


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__qualname__)
def test_every_function_shows_the_options_of_a_request(function):
    """help() and editors read them from the signature."""
    shown = inspect.signature(function).parameters

    assert RequestOptions.__annotations__.keys() <= shown.keys()
    assert {inspect.Parameter.KEYWORD_ONLY} == {
        shown[name].kind for name in RequestOptions.__annotations__
    }
    assert {
        "outputs": None,
        "version": None,
        "parameters": None,
        "request_id": "",
        "correlation_id": 0,
        "sequence_start": False,
        "sequence_end": False,
        "priority": 0,
        "timeout_us": 0,
        "client_timeout_s": None,
        "show": True,
    } == {name: shown[name].default for name in RequestOptions.__annotations__}


def test_a_cell_completes_the_options():
    """They are completed like the arguments of any function."""
    completer = IPCompleter(namespace={"blsnb": blsnb}, use_jedi=False)
    line = "blsnb.stream('m', {}, time"
    with provisionalcompleter():
        found = [each.text for each in completer.completions(line, len(line))]

    assert "timeout_us=" in found
