"""The fields of a request: made of a client's options, and shown by every function."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from IPython.core.completer import IPCompleter, provisionalcompleter

import blsnb
from blsnb.errors import InputError
from blsnb.request_fields import (
    PLAIN,
    RequestFields,
    RequestOptions,
    fields_of,
    received_fields,
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
    """Every function refuses it."""
    with pytest.raises(InputError, match=r"no option 'oops'; .* client_timeout_s"):
        blsnb.stream("model", {}, oops=1)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"priority": "high"}, "priority='high' is not valid; expected a number"),
        ({"sequence_start": "no"}, "sequence_start='no' is not valid; expected True"),
        ({"sequence_end": 2}, "sequence_end=2 is not valid; expected True or False"),
        ({"priority": 1.5}, "priority=1.5 is not valid; expected a number"),
        ({"timeout_us": -1}, "timeout_us=-1 is not valid; expected a number from 0 to"),
        ({"correlation_id": 1.5}, "correlation_id=1.5 is not valid; expected a"),
    ],
)
def test_an_invalid_value_is_refused(option, words):
    """The error has the value found, and what was expected."""
    with pytest.raises(InputError, match=words):
        fields_of(option)


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


def test_a_cell_completes_the_options():
    """They are completed like the arguments of any function."""
    completer = IPCompleter(namespace={"blsnb": blsnb}, use_jedi=False)
    line = "blsnb.stream('m', {}, time"
    with provisionalcompleter():
        found = [each.text for each in completer.completions(line, len(line))]

    assert "timeout_us=" in found
