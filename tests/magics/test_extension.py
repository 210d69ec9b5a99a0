"""Specification of %load_ext and %unload_ext."""

import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest

from blsnb.errors import BlsnbError
from blsnb.evaluation.progress import displays
from blsnb.magics import default_server as default
from blsnb.magics import extension, frontend
from blsnb.results.run import Run

from .models import DOUBLE, FLOW, infer


def touched(shell):
    """Return all state that the extension changes, as comparable values."""
    formatters = (
        shell.display_formatter.mimebundle_formatter,
        shell.display_formatter.ipython_display_formatter,
    )
    return (
        {kind: dict(table) for kind, table in shell.magics_manager.magics.items()},
        dict(shell.magics_manager.registry),
        list(shell.configurables),
        list(shell.Completer.custom_matchers),
        list(shell.input_transformers_cleanup),
        {name: list(found) for name, found in shell.events.callbacks.items()},
        [dict(formatter.type_printers) for formatter in formatters],
        [dict(formatter.deferred_printers) for formatter in formatters],
        list(logging.getLogger("blsnb.model").handlers),
        "_render_traceback_" in vars(BlsnbError),
        dict(default._default.observers),
    )


def test_unloading_restores_everything(shell):
    """All registrations, event handlers and log handlers are restored."""
    before = touched(shell)
    extension.load_ipython_extension(shell)
    assert before != touched(shell)
    extension.unload_ipython_extension(shell)

    assert before == touched(shell)


def test_unloading_restores_everything_after_work(shell):
    """Displays are registered by name first and by type later."""
    before = touched(shell)
    extension.load_ipython_extension(shell)
    shell.run_cell(DOUBLE)
    shell.run_cell(infer("double"))
    shell.run_cell("blsnb.server().model('double')")
    extension.unload_ipython_extension(shell)
    default.close_default()

    assert before == touched(shell)


def test_loading_twice_is_loading_once(shell):
    """Unloading is idempotent, too."""
    before = touched(shell)
    extension.load_ipython_extension(shell)
    once = touched(shell)
    extension.load_ipython_extension(shell)
    assert once == touched(shell)
    extension.unload_ipython_extension(shell)
    extension.unload_ipython_extension(shell)

    assert before == touched(shell)


def test_earlier_magics_are_restored(shell):
    """A magic of the same name is that of the user again."""
    shell.register_magic_function(print, magic_name="triton")
    extension.load_ipython_extension(shell)
    extension.unload_ipython_extension(shell)

    assert print is shell.magics_manager.magics["line"].pop("triton")


def test_later_magics_are_kept(shell):
    """Only blsnb's own magics are removed."""
    extension.load_ipython_extension(shell)
    magic = shell.magics_manager.magics["line"]["triton"] = lambda line: "theirs"
    extension.unload_ipython_extension(shell)

    assert magic is shell.magics_manager.magics["line"].pop("triton")


@pytest.mark.parametrize("kind", ["mimebundle_formatter", "ipython_display_formatter"])
@pytest.mark.parametrize("key", [Run, "blsnb.results.run.Run"], ids=["type", "name"])
@pytest.mark.parametrize("is_later", [False, True], ids=["earlier", "later"])
def test_displays_of_the_user_stay(shell, kind, key, is_later):
    """Unloading removes only blsnb's own displays, and restores those they replaced."""
    formatter = getattr(shell.display_formatter, kind)
    before = touched(shell)
    if is_later:
        extension.load_ipython_extension(shell)
        formatter.for_type(key, print)
    else:
        formatter.for_type(key, print)
        extension.load_ipython_extension(shell)
    extension.unload_ipython_extension(shell)

    assert print is formatter.pop(key)
    assert before == touched(shell)


@pytest.mark.parametrize(
    ("kernel", "made"),
    [(None, None), (SimpleNamespace(do_inspect=print), frontend.ProgressBar)],
)
def test_progress_is_a_bar_in_a_notebook_only(shell, monkeypatch, kernel, made):
    """A terminal has a line of text, as after unloading."""
    monkeypatch.setattr(shell, "kernel", kernel, raising=False)
    extension.load_ipython_extension(shell)
    loaded = displays.make
    extension.unload_ipython_extension(shell)

    assert [made, None] == [loaded, displays.make]


def test_reloading_keeps_the_models(notebook):
    """%reload_ext keeps server and models."""
    notebook.run(DOUBLE)
    extension.unload_ipython_extension(notebook.shell)
    extension.load_ipython_extension(notebook.shell)
    notebook.run(infer("double"))

    assert [2.0, 4.0] == notebook.shell.user_ns["run"]["Y"].tolist()


LIGHT = f'''
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "blsnb")
loaded = "blsnb.inference_server" in sys.modules
shell.run_cell("""{DOUBLE}""")
shell.run_cell("%triton models")
import blsnb
assert blsnb.server().model("double").state == "READY"
heavy = [name for name in ("grpc", "matplotlib", "anywidget") if name in sys.modules]
print(loaded, heavy)
'''


@pytest.mark.slow
def test_a_first_model_needs_no_heavy_library():
    """grpc, matplotlib and widgets are not imported, and loading makes no server."""
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True
    )

    assert "False []" == done.stdout.splitlines()[-1]


def test_a_model_has_its_flags_in_its_help(notebook):
    """%%triton_model? shows the docstring."""
    magic = notebook.shell.find_cell_magic("triton_model")

    assert FLOW.split()[0] in magic.__doc__
