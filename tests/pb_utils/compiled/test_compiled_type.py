"""Specification of the names of compiled classes, as pybind11 gives them."""

import copy
import pickle

import numpy as np
import pytest

from blsnb.pb_utils.module.module import unbound_modules

PB_UTILS, COMPILED = unbound_modules()
BASE = "pybind11_builtins.pybind11_object"
CLASSES = {
    name: each for name, each in vars(COMPILED).items() if isinstance(each, type)
}
NAMES = sorted(CLASSES.keys() - {"TritonModelException"})
WITHOUT_CONSTRUCTOR = ("InferenceResponseSender", "InferenceTrace", "Logger", "Metric")


@pytest.mark.parametrize("name", NAMES)
def test_pythons_own_messages_name_the_module_and_the_class(name):
    """While ``__name__`` is without the module."""
    kind = CLASSES[name]
    with pytest.raises(AttributeError) as missing:
        kind.nothing  # noqa: B018

    full = f"c_python_backend_utils.{name}"
    assert f"type object '{full}' has no attribute 'nothing'" == str(missing.value)
    assert f"<class '{full}'>" == repr(kind)
    assert name == kind.__name__


@pytest.mark.parametrize("name", NAMES)
def test_every_class_has_pybind11s_base_and_metaclass(name):
    """Classes that are bound to an instance have them, too."""
    *_, base, last = CLASSES[name].__mro__

    assert (object, f"<class '{BASE}'>") == (last, repr(base))
    assert "<class 'pybind11_builtins.pybind11_type'>" == repr(type(CLASSES[name]))
    with pytest.raises(AttributeError, match=f"^type object '{BASE}' has no"):
        base.nothing  # noqa: B018


@pytest.mark.parametrize("name", WITHOUT_CONSTRUCTOR)
def test_a_class_without_constructor_raises(name):
    """The arguments do not matter."""
    text = f"^c_python_backend_utils.{name}: No constructor defined!$"
    with pytest.raises(TypeError, match=text):
        CLASSES[name]()
    with pytest.raises(TypeError, match=text):
        CLASSES[name](1, x=2)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_object_can_be_neither_copied_nor_pickled(duplicate):
    """The error names its class."""
    tensor = PB_UTILS.Tensor("X", np.zeros(1))
    text = "^cannot pickle 'c_python_backend_utils.Tensor' object$"
    with pytest.raises(TypeError, match=text):
        duplicate(tensor)


def test_the_constructor_of_a_subclass_must_call_the_compiled_one():
    """Otherwise the object is refused at once."""

    class Careless(PB_UTILS.Tensor):
        def __init__(self):
            pass

    class Careful(PB_UTILS.Tensor):
        def __init__(self):
            super().__init__("X", np.zeros(1))

    with pytest.raises(TypeError) as refused:
        Careless()

    assert "X" == Careful().name()
    assert (
        "c_python_backend_utils.Tensor.__init__() must be called when overriding "
        "__init__"
    ) == str(refused.value)
