"""Where a model's code lies, in messages about it."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE, cell, line_of

from blsnb.errors import ModelLoadError, WouldHang

WRAPPED = """
import functools

def logged(hook):
    @functools.wraps(hook)
    def inner(*arguments):
        return hook(*arguments)
    return inner

class Triton"""
DECORATORS = "    @staticmethod", "    @logged"
SILENT = cell("return [None]")
SOURCES = {
    "a function": SILENT,
    "a decorated function": SILENT.replace("class Triton", WRAPPED, 1).replace(
        "    def execute", "    @logged\n    def execute", 1
    ),
    "a static function": SILENT.replace(
        "    def execute(self, ", "    @staticmethod\n    def execute(", 1
    ),
}


def place(server, source: str) -> str:
    """Return where a request of a model that answers none would hang."""
    server.define("m", source, config=CONFIG)
    with pytest.raises(WouldHang) as caught:
        server.infer("m", {"X": [1.0]})
    begin, end = "Triton would wait here forever: ", " returned no response for this"
    return caught.value.message.partition(begin)[2].partition(end)[0]


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_execute_is_named_with_its_line(server, source):
    """A decorator does not hide it."""
    decorator = next((each for each in DECORATORS if each in source), "def execute")
    line = line_of(source, decorator)

    assert f"execute() of m_0 (line {line} of its source)" == place(server, source)


def test_an_execute_without_source_has_no_line(server):
    """It may be any object that can be called."""
    source = "import functools\n" + cell("pass").replace(
        "    def execute(self, requests):",
        "    execute = functools.partial(lambda requests: None)\n\n"
        "    def other(self, requests):",
    )
    assert "execute() of m_0" == place(server, source)


def test_a_module_without_the_class_is_named(server):
    """With the number of its version."""
    with pytest.raises(ModelLoadError) as caught:
        server.define("m", "x = 1", config=CONFIG)

    text = "Internal: AttributeError: module '1.model' has no attribute "
    assert f"{text}'TritonPythonModel'" == caught.value.reason


def test_each_execution_has_a_number_of_its_own(server):
    """The requests of one batch are found by it."""
    server.define("m", DOUBLE, config=CONFIG)
    first, second = (server.infer("m", {"X": [1.0]}).trace.spans[0] for _ in range(2))

    assert 0 < first.execution < second.execution
