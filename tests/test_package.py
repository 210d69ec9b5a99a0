"""The package as a whole: its names, its weight, its tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from asserting import every

import blsnb
from blsnb import errors

TESTS = Path(__file__).parent
HEAVY = (
    "IPython",
    "anywidget",
    "grpc",
    "ipywidgets",
    "matplotlib",
    "tritonclient",
    "traitlets",
)
LATER = (
    "blsnb.debugger.steps",
    "blsnb.engine.ensemble",
    "blsnb.engine.loading.backend_instances",
    "blsnb.engine.profiling",
    "blsnb.engine.readings",
    "blsnb.engine.scheduling.batching",
    "blsnb.engine.scheduling.sequences",
    "blsnb.evaluation.work",
    "blsnb.magics.commands.models",
    "blsnb.magics.completion.line_completion",
    "blsnb.magics.completion.inspection",
    "blsnb.magics.errors.chain",
    "blsnb.magics.errors.hints",
    "blsnb.magics.evaluating",
    "blsnb.magics.load_tests",
    "blsnb.magics.watching",
    "blsnb.model.rules.ensembles",
    "blsnb.model.rules.tensor_flow",
    "blsnb.model_graph",
    "blsnb.otlp.sending",
    "blsnb.planning",
    "blsnb.repository.imported.derived",
    "blsnb.repository.imported.following",
    "blsnb.repository.imported.in_place",
    "blsnb.serving",
    "blsnb.trace.capture",
    "blsnb.trace.profiles",
    "blsnb.trace.spans",
    "blsnb.views",
    "google.protobuf.json_format",
    "google.protobuf.text_format",
    "tarfile",
    "urllib.request",
)
"""What `%load_ext` leaves to the first use."""
NOT_FOR_A_CELL = (
    "blsnb.engine.loading.backend_instances",
    "blsnb.engine.scheduling.batching",
    "blsnb.model.rules.ensembles",
    "blsnb.model.text.text_hints",
    "blsnb.model_graph.server_graph",
    "blsnb.model_graph.picture",
    "blsnb.repository.imported.derived",
    "blsnb.repository.imported.following",
    "blsnb.tensors.difference",
    "blsnb.trace.comparison",
    "blsnb.trace.spans",
    "blsnb.views.documents",
    "blsnb.views.pictures",
    "google.protobuf.descriptor_pb2",
    "google.protobuf.json_format",
)
"""What a cell with a plain model does not need."""
EXTENSION = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "blsnb")
"""


def modules_after(statements: str) -> set[str]:
    """Return the names of all modules that are loaded after some statements."""
    script = f"{statements}\nimport sys\nprint(*sys.modules)"
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(ended.stdout.split())


def test_the_public_names_are_exactly_these():
    """Each name can be imported, and there are no others."""
    assert [
        "TRITON_RELEASE",
        "BackendError",
        "BlsnbError",
        "CollectorError",
        "InferenceError",
        "InputError",
        "MissingOutputError",
        "ModelConfigError",
        "ModelLoadError",
        "ModelSourceError",
        "OutOfResourcesError",
        "RepositoryError",
        "Response",
        "Run",
        "Server",
        "ServerClosedError",
        "TraceError",
        "TraceFileError",
        "TritonServerError",
        "WouldHang",
        "async_infer",
        "bench",
        "evaluate",
        "infer",
        "load_ipython_extension",
        "load_recording",
        "load_run",
        "load_trace",
        "options",
        "plan",
        "server",
        "stream",
        "unload_ipython_extension",
    ] == blsnb.__all__
    assert sorted(blsnb.__all__) == dir(blsnb)
    assert every(getattr(blsnb, name) is not None for name in blsnb.__all__)


def test_every_error_can_be_imported_from_the_package():
    """Users catch errors without knowing their modules."""
    found = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.BlsnbError)
    }

    assert found == {name for name in found if name in blsnb.__all__}
    assert len(found) > 10


def test_an_unknown_name_is_an_attribute_error():
    """The error is that of any module."""
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = blsnb.nothing


def test_importing_is_light():
    """Modules that a script may never need are not imported."""
    loaded = modules_after("import blsnb")

    assert set() == loaded & set(HEAVY)


def test_running_a_model_is_light():
    """It needs no notebook, gRPC or matplotlib."""
    loaded = modules_after(
        "import blsnb\n"
        "source = '''class TritonPythonModel:\n"
        "    def execute(self, requests):\n"
        "        import triton_python_backend_utils as pb_utils\n"
        "        return [pb_utils.InferenceResponse() for _ in requests]\n'''\n"
        "with blsnb.Server() as server:\n"
        "    server.define('m', source, config='')\n"
        "    server.infer('m', {})\n"
    )

    assert set() == loaded & set(HEAVY)


def test_loading_the_extension_imports_no_more_than_a_first_cell_needs():
    """What few notebooks use is imported at its first use."""
    loaded = modules_after(EXTENSION)

    assert set() == loaded & set(LATER)
    assert 237 > len([name for name in loaded if name.startswith("blsnb")])


def test_the_first_cell_imports_no_pictures():
    """A model is checked before there is a run to show."""
    cell = "%%triton_model m --input X:FP32[4] --output Y:FP32[4]"
    source = "class TritonPythonModel:\n    def execute(self, requests): ..."
    loaded = modules_after(f"{EXTENSION}shell.run_cell({f'{cell}{chr(10)}{source}'!r})")

    assert "blsnb.model_graph.source_checks" in loaded
    assert set() == loaded & set(NOT_FOR_A_CELL)


@pytest.mark.parametrize("enabled", [True, False])
def test_importing_leaves_the_collector_as_it_was(enabled):
    """It is paused only while modules are made."""
    set_up = "" if enabled else "import gc; gc.disable()\n"

    assert modules_after(
        f"{set_up}import blsnb, gc\nblsnb.Server\nassert gc.isenabled() is {enabled}"
    )


@pytest.mark.parametrize("frozen", [True, False])
def test_importing_leaves_no_young_objects_to_the_collector(frozen):
    """The next cell would wait for it; what the user has frozen remains frozen."""
    set_up = "gc.freeze()" if frozen else "kept = [[]]"
    expected = "gc.get_freeze_count()" if frozen else "not gc.get_count()[1]"

    assert modules_after(
        f"import blsnb, gc\n{set_up}\nblsnb.Server\nassert {expected}\n"
        f"assert {frozen} or any(each is kept for each in gc.get_objects(2))"
    )


def test_importing_changes_nothing_of_pythons():
    """It installs no signal handler, path or thread, and only its own import hooks."""
    script = (
        "import signal, sys, threading\n"
        "def state(): return (signal.getsignal(signal.SIGINT), [hook for hook in "
        "sys.meta_path if not type(hook).__module__.startswith('blsnb.')],"
        " list(sys.path), threading.active_count(), sys.excepthook, sys.stdout)\n"
        "before = state()\n"
        "import blsnb\n"
        "blsnb.Server\n"
        "assert before == state()\n"
    )

    assert modules_after(script)


def test_pb_utils_is_not_an_installed_module():
    """It could hide the real module in a Triton container."""
    folder = Path(blsnb.__file__).parents[1]

    assert not (folder / "triton_python_backend_utils.py").exists()


def test_no_folder_of_tests_shadows_other_modules():
    """Only the root of the tests is on the path."""
    packages = {str(path.parent) for path in TESTS.rglob("__init__.py")}

    assert set() == packages & set(sys.path)
