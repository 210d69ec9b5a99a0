"""The JSON of inputs and outputs of an inference request."""

from __future__ import annotations

from unittest.mock import Mock, call

import pytest

from blsnb.serving.http.infer_request import window
from blsnb.serving.http.json_body import Json

REGION = {"shared_memory_region": "r"}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (None, []),
        ({"shared_memory_offset": 2, "shared_memory_byte_size": 3}, []),
        (REGION, [call("r", 0, 0)]),
        (REGION | {"shared_memory_offset": 2}, [call("r", 2, 0)]),
        (REGION | {"shared_memory_byte_size": 3}, [call("r", 0, 3)]),
    ],
)
def test_a_part_of_shared_memory_begins_at_0_and_is_empty_unless_given(
    parameters: Json, expected: list[object]
) -> None:
    """A region makes the tensor's parameters such a part."""
    memory = Mock()

    found = window(parameters, memory)
    assert expected == memory.window.call_args_list
    assert (memory.window.return_value if expected else None) == found
