"""Exceptions outside of `Exception`, wherever model code runs."""

from __future__ import annotations

import itertools

import pytest
from raising import CONFIG, POINTS, raising

from .asking import ask, tensor
from .scripted import write
from .targets import Failure

QUICK = ("look-up in the object", "SystemExit(3)")
CASES = [
    pytest.param(*case, marks=() if case == QUICK else pytest.mark.slow)
    for case in itertools.product(POINTS, ("SystemExit(3)", "KeyboardInterrupt('k')"))
]


@pytest.mark.parametrize(("place", "error"), CASES)
def test_what_a_model_raises_anywhere_is_its_own_error(agree, completing, place, error):
    """A hook whose look-up raises is missing; others fail the load or request."""

    def case(target):
        server = completing(target)
        write(server, "raising", CONFIG, raising(place, error))
        try:
            told = server.load("raising")
            if isinstance(told, Failure):
                return [told]
            return [ask(server, "raising", X=tensor([1, 2])) for _ in range(2)]
        finally:
            # A load that failed is remembered, too.
            server.unload("raising")

    agree(case, python_speaks=True)
