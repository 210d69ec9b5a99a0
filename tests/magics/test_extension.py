"""Specification of %load_ext and %unload_ext."""

import logging
import subprocess
import sys

import pytest

from blsnb.errors import BlsnbError
from blsnb.magics import default_server as default
from blsnb.magics import extension

from .models import DOUBLE, FLOW, infer


def touched(shell):
    """All that the extension touches, as values to compare."""
    formatter = shell.display_formatter.mimebundle_formatter
    return (
        {kind: dict(table) for kind, table in shell.magics_manager.magics.items()},
        dict(shell.magics_manager.registry),
        list(shell.configurables),
        list(shell.Completer.custom_matchers),
        list(shell.input_transformers_cleanup),
        {name: list(found) for name, found in shell.events.callbacks.items()},
        dict(formatter.type_printers),
        dict(formatter.deferred_printers),
        list(logging.getLogger("blsnb.model").handlers),
        "_render_traceback_" in vars(BlsnbError),
        dict(default._default.observers),
    )


def test_unloading_restores_everything(shell):
    """Magics, displays, completion, transformations, events, logging, errors."""
    before = touched(shell)
    extension.load_ipython_extension(shell)
    assert before != touched(shell)
    extension.unload_ipython_extension(shell)

    assert before == touched(shell)


def test_unloading_restores_everything_after_work(shell):
    """Displays are looked up by name first and by type later."""
    before = touched(shell)
    extension.load_ipython_extension(shell)
    shell.run_cell(DOUBLE)
    shell.run_cell(infer("double"))
    shell.run_cell("blsnb.server().model('double')")
    extension.unload_ipython_extension(shell)
    default.close_default()

    assert before == touched(shell)


def test_loading_twice_is_loading_once(shell):
    """And so is unloading."""
    before = touched(shell)
    extension.load_ipython_extension(shell)
    once = touched(shell)
    extension.load_ipython_extension(shell)
    assert once == touched(shell)
    extension.unload_ipython_extension(shell)
    extension.unload_ipython_extension(shell)

    assert before == touched(shell)


def test_what_others_had_registered_comes_back(shell):
    """A magic of the same name, and a display of the same type."""
    from blsnb.run import Run

    formatter = shell.display_formatter.mimebundle_formatter
    theirs, magic = {}, lambda line: "theirs"
    formatter.for_type(Run, lambda run: theirs)
    shell.register_magic_function(magic, magic_name="triton")
    extension.load_ipython_extension(shell)
    extension.unload_ipython_extension(shell)

    assert theirs is formatter.pop(Run)(None)
    assert magic is shell.magics_manager.magics["line"].pop("triton")


def test_what_others_registered_since_stays(shell):
    """Only ours is taken away."""
    extension.load_ipython_extension(shell)
    magic = shell.magics_manager.magics["line"]["triton"] = lambda line: "theirs"
    extension.unload_ipython_extension(shell)

    assert magic is shell.magics_manager.magics["line"].pop("triton")


def test_reloading_keeps_the_models(notebook):
    """%reload_ext is a new door to the same room."""
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
    """Neither grpc nor matplotlib nor widgets; loading makes no server."""
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True
    )

    assert "False []" == done.stdout.splitlines()[-1]


def test_a_model_has_its_flags_in_its_help(notebook):
    """%%triton_model? shows the docstring."""
    magic = notebook.shell.find_cell_magic("triton_model")

    assert FLOW.split()[0] in magic.__doc__
