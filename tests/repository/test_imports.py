"""What the sources of a model import."""

from __future__ import annotations

from pathlib import Path

import pytest

from blsnb.repository.requirements import imported_modules


def found(tmp_path, source, *others):
    """Return the names that a model of this source imports."""
    for path, text in (("1/model.py", source), *((other, "") for other in others)):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return set(imported_modules(tmp_path))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import numpy", {"numpy"}),
        ("import numpy.linalg as la, scipy", {"numpy.linalg", "scipy"}),
        ("from google import protobuf", {"google.protobuf"}),
        ("def f():\n    from torch import nn", {"torch.nn"}),
        ("try:\n    import cupy\nexcept ImportError:\n    pass", {"cupy"}),
        ("import importlib\nimportlib.import_module('torch.nn')", {"torch.nn"}),
        ("__import__('torch')", {"torch"}),
        ("__import__(name)", set()),
        ("import importlib\nimportlib.import_module('.x', 'y')", set()),
        ("import os, json.decoder\nfrom __future__ import annotations", set()),
        ("import triton_python_backend_utils as pb_utils", set()),
        ("import c_python_backend_utils as c", set()),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pip", set()),
        (
            "import typing\nif typing.TYPE_CHECKING:\n    pass\nelse:\n    import pip",
            {"pip"},
        ),
        ("from . import other", set()),
        ("no python at all", set()),
        ("\0", set()),
    ],
)
def test_imports_are_read_and_never_run(tmp_path, source, names):
    """Modules of Python and Triton are left out."""
    assert names == found(tmp_path, source)


def test_files_of_the_model_are_not_packages(tmp_path):
    """They may be beside model.py or in the model's folder."""
    source = "import helper, parts.inner, above, numpy"
    own = ("1/helper.py", "1/parts/inner.py", "above/__init__.py")

    assert {"numpy"} == found(tmp_path, source, *own)


def test_siblings_are_read_as_well(tmp_path):
    """The result names the importing files."""
    (tmp_path / "1" / "parts").mkdir(parents=True)
    (tmp_path / "1" / "model.py").write_text("import parts.inner, numpy")
    (tmp_path / "1" / "parts" / "inner.py").write_text("import numpy, scipy")

    assert {
        "numpy": {Path("1/model.py"), Path("1/parts/inner.py")},
        "scipy": {Path("1/parts/inner.py")},
    } == imported_modules(tmp_path)
