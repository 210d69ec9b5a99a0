"""The line that makes a call is found again each time, though it is remembered."""

import textwrap

from blsnb.engine.bls import SourceLines

SOURCE = """
def one(ask):
    first = ask()
    second = ask()
    return first, second


def other(ask):
    return ask()


def deep(ask):
    return elsewhere(ask)
"""


def functions(lines, depth=1):
    """Return the functions of a file, and those that look up their line."""
    namespace = {"elsewhere": lambda ask: ask()}
    exec(compile(textwrap.dedent(SOURCE), "a file.py", "exec"), namespace)
    return namespace, lambda: lines.innermost(depth)


def test_each_place_has_its_line_however_functions_take_turns():
    """Cached lines of one function are not used for another."""
    file, ask = functions(SourceLines("a file.py"))
    asked = [(file["one"](ask), file["other"](ask)) for _ in range(3)]

    assert [((3, 4), 9)] * 3 == asked


def test_frames_of_other_files_are_passed():
    """The line of a call through a library is that of the file."""
    file, ask = functions(SourceLines("a file.py"))

    assert [13, 13] == [file["deep"](ask), file["deep"](ask)]


def test_a_call_without_a_frame_of_the_file_has_no_line():
    """A thread that a library started is an example."""
    file, ask = functions(SourceLines("another file.py"))
    _, too_deep = functions(SourceLines("a file.py"), 10_000)

    assert (0, 0) == (file["other"](ask), too_deep())
