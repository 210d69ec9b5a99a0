"""Specification of the chain of models through which a failure came."""

from blsnb.magics import default_server as default
from blsnb.magics.errors.chain import failed_chain
from blsnb.parts.server_parts import parts_of

from ..models import DOUBLE, OUTER, infer


def chain(notebook, name):
    error = notebook.run(infer(name)).error
    return failed_chain(error.run.trace)


def test_a_single_model_is_a_chain_of_one(notebook):
    """The link has file, line and error without Triton's prefix."""
    notebook.run(DOUBLE.replace("x * 2", "x / 'a'"))
    [link] = chain(notebook, "double")

    path = (
        parts_of(default.server()).repository.private("double").path / "1" / "model.py"
    )
    assert ("double", str(path), 9, "") == (
        link.model,
        link.filename,
        link.line,
        link.calls,
    )
    assert link.error.startswith("TypeError: ")


def test_a_run_without_failed_calls_has_no_chain(notebook):
    """So after a deadline, when the call is still running or has succeeded."""
    notebook.run(DOUBLE)
    notebook.run(infer("double"))

    assert [] == failed_chain(default.server().runs[-1].trace)


def test_a_caller_is_named_with_the_line_of_its_call(notebook):
    """The line is that of the call, not that of a later failure."""
    notebook.run(DOUBLE.replace("x * 2", "x / 'a'"))
    notebook.run(OUTER)
    first, last = chain(notebook, "outer")

    assert ("outer", "double", 12) == (first.model, first.calls, first.line)
    assert "" == first.error
    assert ("double", "", 9) == (last.model, last.calls, last.line)


def test_a_model_that_is_missing_ends_the_chain(notebook):
    """A missing model has no line."""
    notebook.run(OUTER)
    first, last = chain(notebook, "outer")

    assert "double" == first.calls == last.model
    assert 0 == last.line


def test_a_handled_failure_is_not_part_of_the_chain(notebook):
    """A fallback may have failed calls below it."""
    gives_up = "raise pb_utils.TritonModelException(answer.error().message())\n"
    notebook.run(OUTER.replace(gives_up, "pass\n        1 / 0\n"))
    links = chain(notebook, "outer")

    assert links[0].error.startswith("ZeroDivisionError")
