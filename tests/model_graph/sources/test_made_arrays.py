"""Specification of what a source says about the arrays that it makes."""

from __future__ import annotations

import ast

import pytest

from blsnb.model_graph.sources.made_arrays import made_array
from blsnb.model_graph.sources.source import Program, Source

HEAD = b"import numpy as np\nimport torch\nfrom numpy import float32\n"
SOURCE = Source("model.py", HEAD, Program(lambda _: None))
MADE = {
    # NumPy's defaults.
    "np.zeros((1, 4))": ("FP64", (1, 4)),
    "np.ones([2])": ("FP64", (2,)),
    "np.empty(3)": ("FP64", (3,)),
    "np.zeros(shape=3)": ("FP64", (3,)),
    "np.full((2, 2), 7)": ("", (2, 2)),
    "np.zeros()": ("FP64", None),
    # A type as an argument.
    "np.zeros(3, np.int8)": ("INT8", (3,)),
    "np.full(3, 1, 'float16')": ("FP16", (3,)),
    "np.zeros(3, dtype=float32)": ("FP32", (3,)),
    "np.array([1, 2], np.uint8)": ("UINT8", (2,)),
    "np.zeros(3, np.bool_)": ("BOOL", (3,)),
    "np.zeros(3, bool)": ("BOOL", (3,)),
    "np.zeros(3, int)": ("INT64", (3,)),
    "np.zeros(3, float)": ("FP64", (3,)),
    "np.zeros(3, object)": ("BYTES", (3,)),
    "np.zeros(3, bytes)": ("BYTES", (3,)),
    # Literals.
    "np.array([[1.5], [2]])": ("FP64", (2, 1)),
    "np.asarray(True)": ("BOOL", ()),
    "np.array([1, 2])": ("INT64", (2,)),
    "np.array(['a', 'b'])": ("", (2,)),
    # What only a run knows.
    "np.zeros(n)": ("FP64", None),
    "np.zeros((1, n))": ("FP64", None),
    "np.zeros((1, 2.5))": ("FP64", None),
    "np.zeros(3, kind)": ("", (3,)),
    "np.zeros(3, 'unknown')": ("", (3,)),
    "np.zeros(3, **options)": ("", (3,)),
    "np.array(values)": ("", None),
    "np.array()": ("", None),
    "np.array([[1], [1, 2]])": ("", None),
    "np.array([None])": ("", None),
    "np.array([1, 99999999999999999999])": ("", None),
    "np.zeros(*arguments)": ("", None),
    # Functions of others, whose defaults are theirs.
    "torch.zeros(3)": ("", None),
    "torch.zeros(3, dtype=np.float32)": ("FP32", None),
    "np.arange(3)": ("", None),
    "zeros(3)": ("", None),
    "make()(3)": ("", None),
}


@pytest.mark.parametrize("text", MADE)
def test_a_call_makes_an_array_of_a_known_type_and_shape(text):
    """What depends on a run, or on another library, is not known."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)

    assert MADE[text] == made_array(call, SOURCE)
