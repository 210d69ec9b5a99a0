"""Specification of the examples in the help of magics and subcommands."""

from __future__ import annotations

import re

import pytest
from asserting import every, some

from blsnb.magics import line
from blsnb.magics.commands.subcommands import (
    SUBCOMMANDS,
    example_text,
    examples,
    help_of,
)
from blsnb.magics.commands.usages import USAGES
from blsnb.magics.flags import Flags, model_flags

from ..models import DOUBLE, infer

PARSERS: dict[str, Flags] = {
    "%%triton_model": model_flags(),
    **{
        f"%triton {name}": each.flags()
        for name, each in SUBCOMMANDS.items()
        if each.flags is not None
    },
}
WITHOUT_PARSER = [
    example
    for name, lines in examples().items()
    for example in lines
    if name.startswith("%triton ") and name not in PARSERS
]


def _is_request(parser: Flags) -> bool:
    """Whether inputs stand among the options."""
    return parser.prog.endswith("...")


def test_every_magic_and_subcommand_has_examples():
    """Each example begins with the name under which it is listed."""
    cells = ["%%triton_model", "%%triton_config", "%%triton_file"]

    assert [*cells, *(f"%triton {name}" for name in SUBCOMMANDS)] == [*examples()]
    for name, lines in some(examples().items()):
        assert every(f"{each} ".startswith(f"{name} ") for each in lines)


@pytest.mark.parametrize("name", PARSERS)
def test_the_examples_are_parsed(name):
    """The parser of the magic or subcommand accepts each of them."""
    parser = PARSERS[name]
    for example in some(examples()[name]):
        words, rest = [example.removeprefix(name)], ""
        if _is_request(parser):
            words, rest = parser.split_options(words[0])
            model, _, inputs = rest.strip().partition(" ")
            assert model
            assert (
                name == "%triton evaluate"
                or line.assignments(inputs.strip())
                or ("--cases" in example)
            )
        parser.parse([word for part in words for word in line.words(part, {})])
        assert "--" not in rest


@pytest.mark.parametrize("name", PARSERS)
def test_each_option_stands_in_an_example(name):
    """A reader finds how an option is written."""
    shown = set(re.findall(r"--[a-z0-9-]+", " ".join(examples()[name])))

    assert {*PARSERS[name].option_strings()} - {"--help"} == shown


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_each_option_of_a_usage_stands_in_an_example(name):
    """Subcommands without a parser list their options in the usage only."""
    shown = " ".join(examples()[f"%triton {name}"])
    options = re.findall(r"--[a-z0-9-]+", USAGES[name])

    assert [] == [each for each in options if each not in ("--help", *shown.split())]


@pytest.mark.parametrize("example", WITHOUT_PARSER)
def test_an_example_without_a_parser_runs(notebook, settings, tmp_path, example):
    """Its notebook has a run of a model, which is imported where that is needed."""
    notebook.run(DOUBLE)
    if example.startswith(("%triton diff", "%triton edit")):
        notebook.run(f"%triton export {tmp_path}/models double")
        notebook.run("%triton remove double")
        notebook.run(f"%triton import {tmp_path}/models")
    notebook.run(infer("double"))
    ran = notebook.run(example)

    assert ran.error is None, ran.stderr
    assert "" == ran.stderr


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_the_help_ends_with_the_examples(name):
    """``%triton help NAME`` shows what the reference shows."""
    assert help_of(name).endswith(example_text(f"%triton {name}"))
