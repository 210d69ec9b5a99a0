"""Specification of triton_python_backend_utils outside of models."""

import importlib
import sys

import pytest

from blsnb.pb_utils.module import finder

NAMES = ("triton_python_backend_utils", "c_python_backend_utils")


@pytest.fixture(autouse=True)
def _own_path(monkeypatch):
    """Restore modules and finders after the test."""
    theirs = [f for f in sys.meta_path if type(f) is not finder.PbUtilsFinder]
    monkeypatch.setattr(sys, "meta_path", theirs)
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in NAMES:
        sys.modules.pop(name, None)


def test_the_finder_is_installed_once():
    """It is last, so that a container's real modules are found first."""
    finder.install()
    finder.install()

    ours = [type(found) is finder.PbUtilsFinder for found in sys.meta_path]
    assert (1, True) == (sum(ours), ours[-1])


def test_the_module_can_be_imported():
    """It has the names that a model's helper needs in a test."""
    finder.install()
    pb_utils = importlib.import_module(NAMES[0])

    tensor = pb_utils.Tensor("X", pb_utils.np.zeros(3))
    assert (3,) == tensor.as_numpy().shape
    assert NAMES[0] == pb_utils.__name__


def test_the_compiled_module_can_be_imported():
    """It has names that the other module lacks."""
    finder.install()
    embedded = importlib.import_module(NAMES[1])

    assert {"MemoryType", "MetricKind", "Tensor"} <= set(vars(embedded))


def test_calls_of_models_are_refused_outside_of_them():
    """The text is Triton's for calls outside of `execute`."""
    finder.install()
    pb_utils = importlib.import_module(NAMES[0])
    request = pb_utils.InferenceRequest(
        model_name="m", inputs=[], requested_output_names=[]
    )

    with pytest.raises(
        pb_utils.TritonModelException,
        match=r"BLS is only supported during the 'execute' function\.$",
    ):
        request.exec()


def test_a_real_module_is_imported_first(tmp_path, monkeypatch):
    """The same holds inside a Triton container."""
    (tmp_path / f"{NAMES[0]}.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    finder.install()

    assert importlib.import_module(NAMES[0]).real is True


def test_other_names_are_not_found():
    """The finder provides two modules only."""
    assert finder.PbUtilsFinder().find_spec("nowhere_at_all", None) is None
