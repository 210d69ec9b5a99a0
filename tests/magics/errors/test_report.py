"""Specification of how errors are shown to their reader."""

import io
import re
import signal
import sys

import pytest

from blsnb.errors import (
    BlsnbError,
    InferenceError,
    ModelConfigError,
    ModelLoadError,
    WouldHang,
)

from ..models import DOUBLE, FLOW, OUTER, infer

FAILING = DOUBLE.replace("x * 2", "x * factor")
OURS = "/blsnb/engine/"


@pytest.fixture
def debugging(notebook, monkeypatch):
    """A notebook whose debugger receives commands."""

    def debug(commands):
        monkeypatch.setattr(sys, "stdin", io.StringIO(commands))
        # The debugger of the test before would write to that one's output.
        monkeypatch.setattr(notebook.shell.InteractiveTB, "pdb", None)
        return notebook.run("%debug").stdout

    return debug


@pytest.fixture
def verbose(notebook):
    yield notebook
    notebook.run("%xmode Context")


def test_the_model_line_is_shown_in_the_cell_and_in_the_file(notebook):
    """Triton's texts count lines of model.py, the user those of the cell."""
    notebook.run(FAILING)
    ran = notebook.run(infer("double"))

    where = f"cell {notebook.cell(ago=1)} line 10 (model.py:9)"
    assert f"{where}, in TritonPythonModel.execute" in ran.report
    assert '---> 10             y = pb_utils.Tensor("Y", x * factor)' in ran.report


def test_blank_lines_above_the_magic_count(notebook):
    """The cell's line is the one that the editor shows."""
    notebook.run(f"\n\n{FAILING}")
    ran = notebook.run(infer("double"))

    assert "line 12 (model.py:9)" in ran.report


def test_a_second_ctrl_c_leaves_the_report_of_the_first(notebook):
    """No frame of the code that renders it is shown."""
    ran = notebook.run(
        "import signal\n"
        "from blsnb.errors import RequestInterrupted\n"
        "class Interrupted(RequestInterrupted):\n"
        "    def __str__(self):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "        return 'the first'\n"
        "raise Interrupted"
    )

    assert "Interrupted: the first" in ran.report
    assert "report.py" not in ran.report


def test_a_second_ctrl_c_leaves_the_sending_of_the_first_report(notebook, monkeypatch):
    """IPython sends it after it was rendered; the next cell can be interrupted."""
    send = notebook.shell._showtraceback

    def interrupted(*report: object) -> None:
        signal.raise_signal(signal.SIGINT)
        send(*report)

    monkeypatch.setattr(notebook.shell, "_showtraceback", interrupted)
    ran = notebook.run(
        "from blsnb.errors import RequestInterrupted\nraise RequestInterrupted"
    )
    monkeypatch.undo()
    after = notebook.run("import signal\nsignal.raise_signal(signal.SIGINT)")

    assert "----> 2 raise RequestInterrupted" in ran.report
    assert "KeyboardInterrupt" == type(after.error).__name__


def test_the_calling_line_is_shown(notebook):
    """The report contains the line of the request in the notebook."""
    notebook.run(FAILING)
    ran = notebook.run(infer("double"))

    assert f"cell {notebook.cell()} line 2\n" in ran.report
    assert "----> 2 run = blsnb.infer('double', {'X': [1.0, 2.0]})" in ran.report


def test_the_exact_text_of_triton_is_shown(notebook):
    """Triton's text and code follow the location."""
    notebook.run(FAILING)
    ran = notebook.run(infer("double"))

    assert isinstance(ran.error, InferenceError)
    assert f"InferenceError: [INTERNAL] {ran.error.message}" in ran.report
    assert (
        "%tb shows every frame; %debug opens the debugger at the last line shown."
    ) == ran.report.splitlines()[-1]
    assert "-" * 75 == ran.report.splitlines()[0]


def test_the_frames_next_to_the_error_are_shown(notebook):
    """Those above eight are counted."""
    notebook.run(FAILING)
    first, last = infer("double").splitlines()
    calls = [f"def f{n + 1}(): return f{n}()" for n in range(8)]
    ran = notebook.run("\n".join([first, f"def f0(): {last}", *calls, "f8()"]))

    assert "… 2 frames above\n" in ran.report
    assert 8 == ran.report.count(f"cell {notebook.cell()} line ")


def test_a_magic_is_shown_as_it_was_typed(notebook):
    """IPython's call of it is not; quotes stay."""
    notebook.run(FAILING)
    line = "%triton infer double X=[float('1')]"
    ran = notebook.run(f"x = 1\n{line}")

    assert f"\ncell {notebook.cell()}: {line}\n" in ran.report
    assert "run_line_magic" not in ran.report


def test_the_last_causes_of_an_error_are_shown(notebook):
    """Four of a chain."""
    lines = """error = None
        for n in range(6):
            try:
                raise ValueError(f"cause {n}") from error
            except ValueError as caught:
                error = caught
        raise error"""
    notebook.run(DOUBLE.replace("answers = []", lines))
    ran = notebook.run(infer("double"))

    assert ["2", "3", "4", "5"] == re.findall(r"ValueError: cause (\d)", ran.report)


def test_frames_of_blsnb_are_hidden(notebook):
    """The user cannot fix blsnb's code."""
    notebook.run(FAILING)
    ran = notebook.run(infer("double"))

    assert OURS not in ran.report
    assert "interactiveshell.py" not in ran.report


def test_endless_recursion_is_counted_not_listed(notebook):
    """The recursive line is shown once; the error has all frames, as Triton's has."""
    notebook.run(DOUBLE.replace("x * 2", "self.execute(requests)"))
    ran = notebook.run(infer("double"))

    assert " times:\ncell " in ran.report
    assert 1 == ran.report.count("---> 10")
    assert "model.py(9): execute\n  … the line above " in ran.report
    assert 30 > len(ran.report.splitlines())
    assert 500 < str(ran.error).count("model.py(9): execute")


def test_tb_shows_all_frames(notebook):
    """%tb after the error shows every frame."""
    notebook.run(FAILING)
    notebook.run(infer("double"))
    again = notebook.run("%tb")

    assert OURS in again.report


def test_the_history_has_the_short_report(notebook):
    """IPython renders an error twice in its cell; all frames take long to render."""
    notebook.run(FAILING)
    ran = notebook.run(infer("double"))
    shell = notebook.shell
    kept = shell.history_manager.exceptions[shell.execution_count - 1]

    assert ran.report.strip() == "\n".join(kept["traceback"]).strip()


def test_an_error_that_is_raised_again_is_short_again(notebook):
    """Only showing an error again shows all frames."""
    notebook.run(FAILING)
    notebook.run(infer("double"))
    notebook.run("import sys; error = sys.last_value")
    ran = notebook.run("raise error")

    assert OURS not in ran.report
    assert "----> 1 raise error" in ran.report


def test_all_frames_are_shown_in_verbose_mode(verbose):
    """%xmode Verbose shows every frame."""
    verbose.run(FAILING)
    verbose.run("%xmode Verbose")
    ran = verbose.run(infer("double"))

    assert OURS in ran.report


def test_minimal_mode_shows_the_text_only(verbose):
    """%xmode Minimal shows no frames."""
    verbose.run(FAILING)
    verbose.run("%xmode Minimal")
    ran = verbose.run(infer("double"))

    assert ran.report.startswith("InferenceError: [INTERNAL] Failed to process")


def test_the_chain_of_models_is_shown(notebook):
    """It leads from the requested to the failing model, with their lines."""
    notebook.run(FAILING)
    notebook.run(OUTER)
    ran = notebook.run(infer("outer"))

    called = f"outer calls double at cell {notebook.cell(ago=1)} line 13 (model.py:12)"
    failed = f"double fails at cell {notebook.cell(ago=2)} line 10 (model.py:9)"
    assert "Models: outer → double" in ran.report
    assert called in ran.report
    assert f"{failed}: NameError: name 'factor' is not defined" in ran.report


def test_a_hang_is_shown_at_the_call_that_would_wait(notebook):
    """The report has the circle of waits, the cell's line and advice."""
    notebook.run(OUTER.replace('"double"', '"outer"'))
    ran = notebook.run(infer("outer"))

    assert isinstance(ran.error, WouldHang)
    where = f"cell {notebook.cell(ago=1)} line 13 (model.py:12)"
    assert f"outer calls outer at {where}" in ran.report
    assert f"{where}, in model outer" in ran.report
    assert "---> 13         answer = inner.exec()" in ran.report
    assert "Give 'outer' more instances" in ran.report


@pytest.mark.parametrize("model", ["double", "outer"])
def test_an_execute_without_a_response_is_shown(notebook, model):
    """Its cell is shown, even if another model waits for it."""
    notebook.run(DOUBLE.replace("return answers", "del answers"))
    notebook.run(OUTER)
    ran = notebook.run(infer(model))

    assert isinstance(ran.error, WouldHang)
    where = f"cell {notebook.cell(ago=2)} line 6 (model.py:5), in model double"
    assert where in ran.report
    assert "----> 6     def execute(self, requests):" in ran.report


def test_the_line_where_a_chain_began_is_shown(notebook):
    """The origin's line is known although its exception became a text."""
    notebook.run(FAILING)
    notebook.run(OUTER)
    ran = notebook.run(infer("outer"))

    assert '---> 10             y = pb_utils.Tensor("Y", x * factor)' in ran.report


def test_the_debugger_opens_in_the_model(notebook, debugging):
    """%debug after a failed request shows the model's variables."""
    notebook.run(FAILING)
    notebook.run(infer("double"))
    shown = debugging("p x.sum()\nup\nq\n")

    assert "model.py(9)execute()" in shown
    assert "3.0" in shown
    assert "run = blsnb.infer" in shown


def test_the_debugger_opens_in_a_failing_initialize(notebook, debugging):
    """A model that does not load can be debugged, too."""
    hook = "    def initialize(self, args):\n        size = 7\n        size / 0\n"
    notebook.run(DOUBLE + hook)
    shown = debugging("p size\nq\n")

    assert "model.py(14)initialize()" in shown
    assert "ipdb> 7" in shown


@pytest.mark.parametrize("model", ["double", "outer"])
def test_a_notebook_name_gets_a_note(notebook, model):
    """A model.py cannot see notebook variables, and the note gives advice."""
    notebook.run("factor = 2")
    notebook.run(FAILING)
    notebook.run(OUTER)
    ran = notebook.run(infer(model))

    assert "The notebook has a variable 'factor', but a model.py cannot" in ran.report
    for remedy in ("into the model's cell", "--file PATH", "parameter"):
        assert remedy in ran.report


def test_a_notebook_name_at_import_gets_a_note(notebook):
    """The note also appears while the model is loaded."""
    notebook.run("mean = 2")
    ran = notebook.run(DOUBLE + "SCALE = mean\n")

    assert isinstance(ran.error, ModelLoadError)
    assert "line 13 (model.py:12)" in ran.report
    assert "The notebook has a variable 'mean'" in ran.report


def test_an_unknown_name_gets_no_note(notebook):
    """A name that the notebook lacks, too, is a plain mistake."""
    notebook.run(FAILING)
    ran = notebook.run(infer("double"))

    assert "The notebook has" not in ran.report


def test_a_syntax_error_is_shown_at_the_cells_line(notebook):
    """The line is shown although the file has been removed."""
    ran = notebook.run(DOUBLE.replace("answers = []", "answers = [[]"))

    assert f"cell {notebook.cell()} line 7 (model.py:6)" in ran.report
    assert "----> 7         answers = [[]" in ran.report
    assert "SyntaxError" in ran.report


def test_a_syntax_error_that_a_model_raises_is_shown_where_it_is_raised(notebook):
    """It has no line of its own."""
    ran = notebook.run(DOUBLE + 'raise SyntaxError("made up")\n')

    places = re.findall(r"\(model\.py:(\d+)\)", ran.report)
    assert [str(len(DOUBLE.splitlines()))] == places
    assert "SyntaxError: made up" in ran.report


def test_a_failed_reload_is_shown_with_its_own_text(notebook):
    """The lines are those of the new text, not of the serving version."""
    notebook.run(DOUBLE)
    ran = notebook.run(DOUBLE + "\n\n1 / 0\n")

    assert "---> 15 1 / 0" in ran.report


def test_a_notebook_line_in_a_model_gets_a_note(notebook):
    """Lines with % and ! are IPython's, not Python's."""
    ran = notebook.run(DOUBLE + "!pip list\n")

    assert "lines that begin with % or ! belong to the notebook" in ran.report


def test_a_missing_class_is_named(notebook):
    """The report says what the class needs."""
    ran = notebook.run(DOUBLE.replace("TritonPythonModel", "Model"))

    assert "has no attribute 'TritonPythonModel'" in ran.report
    assert "define class TritonPythonModel with a method execute" in ran.report


def test_a_missing_execute_is_reported(notebook):
    """The model loads as on Triton; the first request reports it in a note."""
    notebook.run(DOUBLE.replace("def execute", "def excute"))
    ran = notebook.run(infer("double"))

    assert (
        "Triton calls execute(self, requests) of the class by this name" in ran.report
    )
    assert "Triton never calls 'excute' (execute?)" in ran.error.run.notes[0]


def test_a_raised_tritonerror_gets_a_note(notebook):
    """TritonError is not an exception, which Python's message does not explain."""
    raising = "raise pb_utils.TritonError('no')"
    notebook.run(DOUBLE.replace("answers = []", raising))
    ran = notebook.run(infer("double"))

    assert "TritonError is a value, not an exception" in ran.report


def test_a_missing_tensor_gets_a_note(notebook):
    """A wrong name returns None; only using that fails."""
    notebook.run(DOUBLE.replace('request, "X"', 'request, "x"'))
    ran = notebook.run(infer("double"))

    assert "return None where there is no tensor of that name" in ran.report


def test_a_malformed_configuration_is_shown_at_the_cells_line(notebook):
    """The report has the cell's line, the file's position and the text."""
    ran = notebook.run("%%triton_config double\nmax_batch_size: 4\nfoo: 3\n")

    assert isinstance(ran.error, ModelConfigError)
    assert f"cell {notebook.cell()} line 3 (config.pbtxt:2)" in ran.report
    assert "2:4" in ran.report


def test_a_malformed_configuration_without_a_cell_has_no_location(notebook):
    """It is an argument of a call, and its position is in the text."""
    ran = notebook.run(
        "import blsnb\n"
        "blsnb.server().define('m', 'class TritonPythonModel: ...', config='foo: 3')"
    )

    assert "1:4" in ran.report
    assert "\n:1\n" not in ran.report


def test_a_malformed_option_is_shown_with_the_magic_as_typed(notebook):
    """The report does not show IPython's call of the magic."""
    ran = notebook.run(DOUBLE.replace("X:FP32[-1]", "X:FP3[-1]"))

    typed = f"%%triton_model double {FLOW}".replace("X:FP32", "X:FP3")
    assert f"cell {notebook.cell()}: {typed}" in ran.report
    assert "'FP3' is not a type of Triton" in ran.report
    assert "get_ipython" not in ran.report


def test_a_refused_request_is_shown_with_its_advice(notebook):
    """Expected and actual shape and the probable fix are shown."""
    notebook.run(DOUBLE)
    ran = notebook.run("import blsnb\nblsnb.infer('double', {'X': [[1.0], [2.0]]})")

    assert "unexpected shape for input 'X'" in ran.report
    assert "  expected [-1]\n  actual   [2, 1]" in ran.report


def test_a_helper_of_a_model_is_shown_in_its_cell(notebook):
    """The cell of a sibling file is known, too."""
    notebook.run("%%triton_file double/1/helper.py\n\ndef fail():\n    1 / 0\n")
    model = DOUBLE.replace("import triton", "import helper\nimport triton")
    notebook.run(model.replace("x * 2", "helper.fail()"))
    ran = notebook.run(infer("double"))

    assert f"cell {notebook.cell(ago=2)} line 4 (helper.py:3), in fail" in ran.report


def test_the_cause_of_an_exception_is_shown(notebook):
    """The cause comes first, as in Python."""
    broken = DOUBLE.replace(
        "        answers = []\n",
        "        answers = []\n        try:\n            {}['key']\n"
        "        except KeyError as error:\n"
        "            raise ValueError('no such label') from error\n",
    )
    notebook.run(broken)
    ran = notebook.run(infer("double"))

    first = ran.report.index("KeyError: 'key'")
    assert first < ran.report.index("raise ValueError")


def test_colours_are_used_where_the_shell_uses_them(notebook):
    """The class is red, as in other errors."""
    notebook.run(FAILING)
    notebook.shell.colors = "linux"
    try:
        ran = notebook.run(infer("double"))
    finally:
        notebook.shell.colors = "nocolor"

    assert "\x1b[31mInferenceError\x1b[0m: [INTERNAL]" in ran.report


def test_no_hook_is_left_after_unloading(notebook):
    """IPython renders errors as before."""
    notebook.run("%unload_ext blsnb")
    from blsnb.magics.extension import unload_ipython_extension

    unload_ipython_extension(notebook.shell)
    assert not hasattr(BlsnbError, "_render_traceback_")


def test_a_missing_output_shows_the_users_line_only(notebook):
    """It is a KeyError that lists the outputs and a similar name."""
    notebook.run(DOUBLE)
    notebook.run("import blsnb\nanswer = blsnb.infer('double', {'X': [1.0]})")
    ran = notebook.run("answer['y']")

    assert isinstance(ran.error, KeyError)
    assert "blsnb/" not in ran.report
    assert f"cell {notebook.cell()} line 1" in ran.report
    assert (
        "MissingOutputError: no output 'y'; the response has Y. Did you mean 'Y'?"
        in ran.report
    )


def test_the_notes_of_an_error_are_shown(notebook, tmp_path):
    """A file that is absent has a note on a similar name, or on its folder."""
    (tmp_path / "last.blsrun").touch()
    lost = notebook.run(
        f"import blsnb\nblsnb.load_run({str(tmp_path / 'lst.blsrun')!r})"
    )
    away = notebook.run(f"blsnb.load_trace({str(tmp_path / 'no' / 't.json')!r})")

    assert "\nDid you mean 'last.blsrun'?\n" in lost.report
    assert f"\nThere is no folder '{tmp_path / 'no'}'. Create it, or " in away.report


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("blsnb.evaluate('double', 5)", "TypeError: rows=5 is not valid; expected"),
        ("blsnb.evaluate('m', [], workers=-1)", "ValueError: workers=-1 is not valid"),
        ("blsnb.load_run('none.blsrun')", "FileNotFoundError: [Errno 2] No such file"),
        ("blsnb.options.shw = 1", "AttributeError: unknown option 'shw'"),
        ("blsnb.Server(rate_limit='x')", "ValueError: rate_limit='x' is not valid"),
        ("with blsnb.options.using(shw=1): pass", "unknown option 'shw'"),
    ],
)
def test_an_error_of_python_that_blsnb_raises_shows_the_users_line_only(
    notebook, call, text
):
    """Its class says what was wrong with an argument or a file."""
    notebook.run(DOUBLE)
    ran = notebook.run(f"import blsnb\n{call}")

    assert "blsnb/" not in ran.report
    assert "contextlib" not in ran.report
    assert f"----> 2 {call}" in ran.report
    assert text in ran.report
    assert "/blsnb/" in notebook.run("%tb").report


def test_a_function_of_the_user_that_blsnb_calls_is_shown(notebook):
    """The frames between it and the cell are hidden."""
    notebook.run(DOUBLE)
    ran = notebook.run(
        "import blsnb\n"
        "def rows():\n"
        "    yield {'X': [1.0]}\n"
        "    raise KeyError('label')\n"
        "blsnb.evaluate('double', rows())"
    )

    assert "blsnb/" not in ran.report
    assert "----> 4     raise KeyError('label')" in ran.report
    assert "----> 5 blsnb.evaluate('double', rows())" in ran.report


def test_an_error_that_never_was_in_blsnb_is_shown_as_without_it(notebook):
    """Other errors are not the extension's business."""
    ran = notebook.run("1 / 0")
    notebook.run("%unload_ext blsnb")
    plain = notebook.run("1 / 0")

    assert "ZeroDivisionError: division by zero" in ran.report
    assert ran.report.split("\n")[3:] == plain.report.split("\n")[3:]
