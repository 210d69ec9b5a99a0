"""Code without an instance: calls that need a server are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from blsnb.pb_utils.backend import CurrentBackend, UnboundBackend
from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.message import RequestMessage
from blsnb.pb_utils.model_control import bound_model_dir, control_functions

MESSAGE = RequestMessage("m", ())
CONTROL = control_functions(UnboundBackend())
REFUSED: dict[str, Callable[[], Any]] = {
    "load_model": lambda: CONTROL["load_model"]("m"),
    "unload_model": lambda: CONTROL["unload_model"]("m"),
    "is_model_ready": lambda: CONTROL["is_model_ready"]("m"),
    "get_model_dir": bound_model_dir(UnboundBackend()),
}
BLS: dict[str, Callable[[], Any]] = {
    "exec": lambda: CurrentBackend().exec(MESSAGE),
    "exec_decoupled": lambda: CurrentBackend().exec_decoupled(MESSAGE),
    "async_exec": lambda: CurrentBackend().async_exec(MESSAGE, None, False),
}


@pytest.mark.parametrize("name", REFUSED)
def test_code_without_an_instance_has_no_server(name: str) -> None:
    """The error names the function."""
    with pytest.raises(TritonModelException) as caught:
        REFUSED[name]()
    assert f"{name}() is for models only" == str(caught.value)


@pytest.mark.parametrize("name", BLS)
def test_code_without_an_instance_sends_no_request(name: str) -> None:
    """The text is Triton's."""
    with pytest.raises(TritonModelException) as caught:
        BLS[name]()
    assert "BLS is only supported during the 'execute' function." == str(caught.value)
