"""A note where a model's source reads ``sys.argv``, which is [''] on Triton."""

from __future__ import annotations

import sys

import pytest
from cells import CONFIG, DOUBLE

from blsnb.engine.instance.model_notes import note_of_argv
from blsnb.inference_server import Server


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import sys\nprint(sys.argv)", 2),
        ("from sys import argv", 1),
        ("import argparse\nx = 1\nargparse.ArgumentParser().parse_args()", 3),
        ("parser.parse_known_args()", 1),
        ("from sys import path, argv", 1),
        ("import sys\n\ndef read():\n    print(sys.argv)\n\nread(sys.argv)", 4),
    ],
)
def test_the_first_line_that_reads_it_is_named(source: str, line: int) -> None:
    """Also where argparse reads it."""
    note = note_of_argv(source)

    assert (
        f"Line {line} of model.py reads sys.argv, which is [''] on Triton; here it has "
        "the arguments of this process. Read parameters of the configuration instead."
    ) == note


@pytest.mark.parametrize(
    "source",
    [
        "# sys.argv",
        "parser.parse_args([])",
        "x.argv",
        "from .sys import argv",
        "from sys import path  # not argv",
        "import argv",
        "parser.parse_args(known=['argv'])",
        "'argv'",
        "sys.argv = (",
        "",
    ],
)
def test_other_sources_have_no_note(source: str) -> None:
    """Comments and texts, and parsers with arguments of their own."""
    assert "" == note_of_argv(source)


def test_there_is_no_note_where_it_is_triton_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in `blsnb serve`."""
    monkeypatch.setattr(sys, "argv", [""])

    assert "" == note_of_argv("import sys\nprint(sys.argv)")


def test_the_note_is_on_the_run_and_on_the_card(server: Server) -> None:
    """Once for all instances."""
    source = f"import sys\nARGUMENTS = sys.argv[1:]\n{DOUBLE}"
    server.define("argued", source, config=CONFIG)
    run = server.infer("argued", {"X": [1.0]})

    assert [True] == ["sys.argv" in note for note in run.notes]
    assert [True] == ["sys.argv" in each for each in server.model("argued").findings]
