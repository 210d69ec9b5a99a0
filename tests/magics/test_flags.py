"""Specification of the flags of %%triton_model."""

import pytest
from IPython.core.error import UsageError

from blsnb.magics.define import DefineMagics
from blsnb.magics.flags import HelpAsked, model_flags

DESIGNED = [
    "--config",
    "--decoupled",
    "--dynamic-batching",
    "--file",
    "--input",
    "--instances",
    "--kind",
    "--max-batch-size",
    "--output",
    "--quiet",
    "--version",
]


def test_every_option_of_the_design_is_there():
    """And in the help, which is where people look."""
    flags = model_flags()

    assert sorted([*DESIGNED, "--help"]) == flags.option_strings()
    assert [] == [name for name in DESIGNED if name not in flags.format_help()]


def test_the_help_is_the_docstring():
    """There is one text, so the two cannot differ."""
    assert model_flags().format_help() == DefineMagics.triton_model.__doc__


def test_options_may_be_repeated():
    """Inputs, outputs and files come in any number, in order."""
    line = "m --input A --input B --file c --file d"
    given = model_flags().parse(line.split())

    assert (["A", "B"], [], ["c", "d"]) == (given.input, given.output, given.file)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("m", None),
        ("m --dynamic-batching", True),
        ("m --dynamic-batching 250", 250),
        ("m --dynamic-batching --quiet", True),
    ],
)
def test_dynamic_batching_may_have_a_delay(line, expected):
    """Without one it is on."""
    found = model_flags().parse(line.split()).dynamic_batching

    assert (expected, type(expected)) == (found, type(found))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", "the following arguments are required: NAME"),
        ("m --inptu X", "unrecognized arguments: --inptu X"),
        ("m --in X", "unrecognized arguments: --in X"),
        ("m --version 0", "0 is no version: the first is 1"),
        ("m --kind tpu", "invalid choice: 'tpu'"),
        ("m --instances two", "invalid int value: 'two'"),
        ("m --input", "expected one argument"),
    ],
)
def test_wrong_flags_print_the_help_and_say_what_is_wrong(line, expected, capsys):
    """The error names the option, the help is above it."""
    with pytest.raises(UsageError, match=expected):
        model_flags().parse(line.split())
    assert capsys.readouterr().out.startswith("usage: %%triton_model")


def test_asking_for_help_prints_it(capsys):
    """And does nothing else."""
    with pytest.raises(HelpAsked):
        model_flags().parse(["--help"])
    assert capsys.readouterr().out.startswith("usage: %%triton_model")
