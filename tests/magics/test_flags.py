"""Specification of the flags of %%triton_model."""

import pytest
from IPython.core.error import UsageError

from blsnb.magics.define import DefineMagics
from blsnb.magics.flags import HelpShown, model_flags

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
    """Every option is in the help."""
    flags = model_flags()

    assert sorted([*DESIGNED, "--help"]) == flags.option_strings()
    assert [] == [name for name in DESIGNED if name not in flags.format_help()]


def test_the_help_is_the_docstring():
    """Help and docstring are one text."""
    assert model_flags().format_help() == DefineMagics.triton_model.__doc__


def test_options_may_be_repeated():
    """Inputs, outputs and files keep their order."""
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
    """Without a delay it is only enabled."""
    found = model_flags().parse(line.split()).dynamic_batching

    assert (expected, type(expected)) == (found, type(found))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", "the following arguments are required: NAME"),
        ("m --inptu X", "unrecognized arguments: --inptu X"),
        ("m --in X", "unrecognized arguments: --in X"),
        ("m --version -1", "version -1 is not valid; versions are from 0 to 9,223,"),
        ("m --version x", "version x is not valid; versions are from 0 to 9,223,"),
        (f"m --version {2**63}", f"version {2**63} is not valid; versions are from"),
        ("m --kind tpu", "invalid choice: 'tpu'"),
        ("m --instances two", "invalid int value: 'two'"),
        ("m --input", "expected one argument"),
    ],
)
def test_an_error_names_the_option_and_the_usage(line, expected, capsys):
    """The error has a few lines."""
    with pytest.raises(UsageError, match=expected) as caught:
        model_flags().parse(line.split())
    assert "\n\nusage: %%triton_model [--help]" in str(caught.value)
    assert "%%triton_model --help explains all options." in str(caught.value)
    assert "" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--imput X:FP32[1]", ". Did you mean --input?\n"),
        ("--max_batch_size 8", ". Did you mean --max-batch-size?\n"),
        ("-decoupled --quite", ". Did you mean --decoupled --quiet?\n"),
        ("--colour red", ": --colour red\n"),
        ("b c", ": b c\n"),
    ],
)
def test_a_misspelled_option_gets_a_suggestion(typed, meant):
    """The error suggests a similar option."""
    with pytest.raises(UsageError) as caught:
        model_flags().parse(["m", *typed.split()])
    assert meant in str(caught.value)


def test_help_is_printed(capsys):
    """--help does nothing else."""
    with pytest.raises(HelpShown):
        model_flags().parse(["--help"])
    assert capsys.readouterr().out.startswith("usage: %%triton_model")


@pytest.mark.parametrize("type_", ["FP32[-1]", ":FP32[-1]"])
def test_a_tensor_of_two_words_is_explained(type_):
    """Type and dimensions would be another argument; the name is that of the tensor."""
    with pytest.raises(UsageError, match=r"did you mean X:FP32\[-1\], without a space"):
        model_flags().parse(["m", "--input", "X", type_])
