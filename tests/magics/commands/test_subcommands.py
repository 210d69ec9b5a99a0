"""Specification of %triton."""

import json
import os
from pathlib import Path

import pytest

from blsnb.engine.model_log import ModelLogLine
from blsnb.errors import InferenceError
from blsnb.magics import default_server as default
from blsnb.magics.commands.subcommands import SUBCOMMANDS, TritonMagics, help_text
from blsnb.magics.commands.usages import USAGES
from blsnb.magics.flags import model_flags

from ..models import DOUBLE

HELP = Path(__file__).with_name("help.txt")
EXPORT_LINE = (
    "%triton export [--help] [--deploy IMAGE] [--force] [--in-place] [PATH] [NAME ...]"
)


@pytest.fixture
def double(notebook):
    notebook.run(DOUBLE)
    return notebook


def test_every_subcommand_of_the_design_is_there():
    """Every subcommand exists and has a function."""
    designed = (
        "models config load unload remove import export infer stats trace log bench "
        "help standin monitor runtime serve tutorial verify graph diff edit try watch "
        "evaluate plan require"
    )

    assert sorted(designed.split()) == sorted(SUBCOMMANDS)
    by_magic = [name for name, sub in SUBCOMMANDS.items() if sub.run is None]
    assert ["monitor", "serve", "watch"] == by_magic


def test_the_help_is_the_docstring(notebook):
    """Help and docstring are one text."""
    assert help_text() == TritonMagics.triton.__doc__
    assert help_text() + "\n" == notebook.run("%triton help").stdout
    assert help_text() + "\n" == notebook.run("%triton").stdout


def test_help_on_one_subcommand_is_short(notebook):
    """It contains the usage, a summary and an example."""
    assert (
        "%triton unload NAME\n  stop serving a model\n\nexamples:\n"
        "  %triton unload double\n      stop serving the model; its files stay\n"
    ) == notebook.run("%triton help unload").stdout


@pytest.mark.parametrize("line", ["%triton help bench", "%triton bench --help"])
def test_help_on_one_with_options_lists_them(notebook, line):
    """Each option has a description."""
    assert "--duration TIME          how long each level" in notebook.run(line).stdout


def test_the_help_is_the_reviewed_text():
    """``BLSNB_WRITE_GOLDEN=1`` writes the file anew, and its diff is reviewed."""
    found = [each.flags for each in SUBCOMMANDS.values() if each.flags is not None]
    pages = [flags().format_help() for flags in [*found, model_flags]]
    text = "\n".join([help_text(), *pages])
    if os.environ.get("BLSNB_WRITE_GOLDEN"):
        HELP.write_text(text, encoding="utf-8")

    # Versions of Python break the usage in different places.
    assert HELP.read_text(encoding="utf-8").split() == text.split()


def test_no_line_of_the_help_runs_out_of_the_page():
    """A long usage is broken between its options."""
    assert 110 >= max(len(line) for line in help_text().splitlines())
    assert "[--allow-origin ORIGIN]\n          [--allow-host NAME]" in help_text()


@pytest.mark.parametrize("line", ["%triton nothing", "%triton help nothing"])
def test_an_unknown_subcommand_is_named(notebook, line):
    """An unknown subcommand is an error that names it."""
    ran = notebook.run(line)

    assert "%triton has no subcommand 'nothing'. There are: models, " in ran.stderr
    assert "" == ran.stdout
    assert ran.error is not None


def test_a_misspelled_subcommand_gets_a_suggestion(notebook):
    """The error suggests the similar subcommand."""
    ran = notebook.run("%triton modles")

    assert "'modles'. Did you mean %triton models? There are: " in ran.stderr


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        ("models x", "%triton models"),
        ("config", "%triton config NAME [--from-run [RUN ...]]"),
        ("config a b", "%triton config NAME [--from-run [RUN ...]]"),
        ("load a b", "%triton load NAME [--watch]"),
        ("unload", "%triton unload NAME"),
        ("unload a b", "%triton unload NAME"),
        ("remove", "%triton remove NAME"),
        ("diff a b", f"%triton diff {USAGES['diff']}"),
        ("diff --all", f"%triton diff {USAGES['diff']}"),
        ("stats a b", f"%triton stats {USAGES['stats']}"),
        ("stats --jsno", f"%triton stats {USAGES['stats']}"),
        ("stats --json --metrics", f"%triton stats {USAGES['stats']}"),
        ("log a b", "%triton log [NAME]"),
        ("import", "%triton import [--help] [--no-watch] PATH [NAME ...]"),
        ("import x --all", "%triton import [--help] [--no-watch] PATH [NAME ...]"),
        ("export", EXPORT_LINE),
        ("export --force", EXPORT_LINE),
        ("export x --farce", EXPORT_LINE),
        ("infer", "%triton infer NAME INPUT=EXPRESSION ... [--profile]"),
    ],
)
def test_wrong_arguments_show_the_usage(notebook, line, usage):
    """The error contains the usage of this subcommand."""
    shown = " ".join(notebook.run(f"%triton {line}").stderr.split())

    assert f"usage: {usage} " in f"{shown} "


def test_models_are_a_table(double):
    """There is a row for each model, including those that do not serve."""
    double.run("%triton unload double")
    double.run(DOUBLE.replace("triton_model double", "triton_model another"))
    [shown] = double.run("%triton models").outputs

    head, another, gone = shown["text/plain"].splitlines()
    assert ["model", "version", "state"] == head.split()[:3]
    assert another.startswith("another  1        READY        cell In[")
    assert "  X:FP32[-1] → Y:FP32[-1]  " in another
    assert gone.startswith("double   -        UNAVAILABLE")
    assert 3 == shown["text/html"].count("<tr>")


def test_without_models_the_next_step_is_named(notebook):
    """Without models the output says how to define one."""
    assert (
        "define one in a %%triton_model cell" in notebook.run("%triton models").stdout
    )


def test_the_completed_configuration_is_printed(double):
    """It is a config.pbtxt with Triton's defaults."""
    printed = double.run("%triton config double").stdout

    assert default.server().config_text("double") == printed.removesuffix("\n")
    assert 'backend: "python"' in printed


def test_a_model_that_is_not_there_is_named(notebook):
    """The error has Triton's text."""
    ran = notebook.run("%triton config nowhere")

    assert isinstance(ran.error, InferenceError)
    assert "Request for unknown model: 'nowhere' is not found" in str(ran.error)


def test_a_model_is_unloaded_and_loaded(double):
    """Both commands show the card."""
    assert "double UNAVAILABLE" in double.run("%triton unload double").texts[0]
    assert "double version 1 READY" in double.run("%triton load double").texts[0]


def test_a_removed_model_is_no_longer_listed(double):
    """It is unloaded, and its folder is deleted."""
    assert "double is removed.\n" == double.run("%triton remove double").stdout
    assert "double" not in double.run("%triton models").stdout
    assert "there is no model 'double'" in double.run("%triton unload double").stderr


def test_inputs_are_expressions_of_the_notebook(double):
    """The run is the cell's value and is displayed once."""
    double.run("import numpy as np\nn = 2\nname = 'double'")
    ran = double.run("%triton infer {name} X=np.full(n, 3.5, dtype=np.float32)")

    assert [7.0, 7.0] == ran.value["Y"].tolist()
    assert 1 == len(ran.outputs)


def test_an_expression_may_use_local_variables(double):
    """Local variables of a calling function are available, too."""
    ran = double.run(
        "def ask():\n    local = [4.0]\n"
        "    return get_ipython().run_line_magic('triton', 'infer double X=local')\n"
        "ask()['Y'][0]"
    )

    assert 8.0 == ran.value


@pytest.mark.parametrize("expression", ["X=1 +", "X=import os"])
def test_an_invalid_expression_is_shown(double, expression):
    """The error contains the expression and Python's message."""
    assert expression in double.run(f"%triton infer double {expression}").stderr


def test_an_undefined_name_is_reported_with_its_input(double):
    """The error is one line, without frames of the magic."""
    ran = double.run("%triton infer double X=nowhere")

    assert "UsageError: X=nowhere: name 'nowhere' is not defined" in ran.stderr


def test_an_error_of_a_called_function_is_not_shortened(double):
    """It may be long, and keeps its traceback."""
    double.run("def made():\n    return nowhere")

    assert isinstance(double.run("%triton infer double X=made()").error, NameError)
    assert isinstance(double.run("%triton infer double X=1/0").error, ZeroDivisionError)


def test_statistics_are_a_table_or_json(double):
    """The table has counts and mean times; JSON has all of Triton's fields."""
    double.run("%triton infer double X=[1.0]")
    [table] = double.run("%triton stats double").texts
    printed = json.loads(double.run("%triton stats double --json").stdout)

    head, row = table.splitlines()
    assert "mean µs" in head
    assert ["double", "1", "1", "0", "1"] == row.split()[:5]
    assert "double" == printed["model_stats"][0]["name"]
    assert table.split()[:2] == double.run("%triton stats").texts[0].split()[:2]


def test_statistics_are_a_metrics_page(double):
    """--metrics prints the page, or the lines of one model."""
    double.run("%triton infer double X=[1.0]")
    whole = double.run("%triton stats --metrics").stdout
    own = double.run("%triton stats double --metrics").stdout.splitlines()

    assert default.server().metrics() == whole
    assert 'nv_inference_count{model="double",version="1"} 1' in own
    assert [] == [line for line in own if "#" in line]
    ran = double.run("%triton stats nowhere --metrics")
    assert isinstance(ran.error, InferenceError)


def test_the_log_of_models_is_printed(double):
    """It has the lines of all models, or of one."""
    assert "Nothing has been logged.\n" == double.run("%triton log").stdout
    logging = "        pb_utils.Logger.log_info('in ' + str(len(requests)))\n"
    double.run(
        DOUBLE.replace("        answers = []\n", f"{logging}        answers = []\n")
    )
    double.run("%triton infer double X=[1.0]")

    assert "I double: in 1\n" == double.run("%triton log").stdout
    assert "I double: in 1\n" == double.run("%triton log double").stdout
    assert "there is no model 'other'" in double.run("%triton log other").stderr


def test_a_long_log_shows_its_end(double):
    """It says how many lines are omitted."""
    lines = default.server().log.lines
    lines.extend(ModelLogLine("double", "INFO", str(n)) for n in range(210))
    printed = double.run("%triton log").stdout.splitlines()

    assert ["… 10 earlier lines", "I double: 10"] == printed[:2]
    assert 201 == len(printed)


def test_each_owner_is_closed_although_others_fail(notebook):
    """The error of the only one that fails is raised when all are closed."""
    magics, closed = TritonMagics(notebook), []

    class Owner:
        def __init__(self, number):
            self.number = number

        def close(self):
            closed.append(self.number)
            if self.number == 1:
                raise OSError("a port")

    magics._owners = {f"{number}": Owner(number) for number in range(3)}
    with pytest.raises(OSError, match="a port"):
        magics.close()

    assert [0, 1, 2] == sorted(closed)
