"""Outputs as classes: the largest elements, with their indices and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.responses import classified
from blsnb.serving.core.wire import WireTensor
from blsnb.tensors import byte_strings
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import freeze

LABELS = ("a", "", "c")


def classes(
    values: Any, datatype: str, count: int, *, batched: bool = False
) -> WireTensor:
    """Return the classes of an output with these elements."""
    dtype = BY_DATATYPE[datatype]
    ref = freeze("Y", np.array(values, dtype.dtype), dtype)
    return classified(ref, count, LABELS, batched=batched)


@pytest.mark.parametrize(
    ("values", "datatype", "count", "texts"),
    [
        ([0.5, 2, -1, 3], "FP32", 3, ["3.000000:3", "2.000000:1", "0.500000:0:a"]),
        ([1e-9, 0.25], "FP64", 5, ["0.250000:1", "0.000000:0:a"]),
        ([3, 7, 7], "INT8", 2, ["7:1", "7:2:c"]),
        ([-128, 127], "INT8", 1, ["127:1"]),
        ([0, 255], "UINT8", 1, ["255:1"]),
        ([2**53, 2**53 + 1], "INT64", 1, ["9007199254740993:1"]),
        ([-(2**63), 2**63 - 1], "INT64", 1, ["9223372036854775807:1"]),
        ([2**64 - 2, 2**64 - 1], "UINT64", 1, ["18446744073709551615:1"]),
    ],
)
def test_the_largest_elements_come_first(
    values: list[Any], datatype: str, count: int, texts: list[str]
) -> None:
    """Numbers are compared exactly; an empty or missing label is left out."""
    found = classes(values, datatype, count)

    assert ("Y", "BYTES", (len(texts),)) == (found.name, found.datatype, found.shape)
    assert byte_strings.pack(texts) == found.data


def test_each_row_of_a_batch_has_its_own_classes() -> None:
    """Its other axes are one."""
    found = classes([[[1, 2], [4, 3]], [[8, 7], [5, 6]]], "INT32", 2, batched=True)
    whole = classes([[1, 2], [4, 3]], "INT32", 1)

    assert (2, 2) == found.shape
    assert byte_strings.pack(["4:2:c", "3:3", "8:0:a", "7:1"]) == found.data
    assert ((1,), byte_strings.pack(["4:2:c"])) == (whole.shape, whole.data)


@pytest.mark.parametrize("datatype", ["BOOL", "BYTES", "FP16"])
def test_some_types_have_no_classes(datatype: str) -> None:
    """The text is Triton's."""
    with pytest.raises(RequestError) as caught:
        classes([0], datatype, 1)
    assert (
        f"class result not available for output due to unsupported type '{datatype}'"
    ) == caught.value.message
    assert "INVALID_ARG" == caught.value.code
