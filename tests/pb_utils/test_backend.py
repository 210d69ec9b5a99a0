"""Code without an instance: calls that need a server are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from blsnb.pb_utils.backend import CurrentBackend, Refusal, UnboundBackend
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
NOTES = {
    "load_model": lambda control: control["load_model"]("m"),
    "unload_model": lambda control: control["unload_model"]("m"),
    "is_model_ready": lambda control: control["is_model_ready"]("m", "x"),
}
FAILURES = {
    "load_model": "Failed to load model",
    "unload_model": "Failed to unload model",
    "is_model_ready": "Failed to check model readiness",
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


class Refusing(UnboundBackend):
    """A server that refuses each call, and the notes that the model receives."""

    def __init__(self, is_refusing: bool = True) -> None:
        self.notes: list[str] = []
        self.note = self.notes.append
        if is_refusing:
            self.load_model = self.unload_model = self.is_model_ready = self.refuse

    def refuse(self, *_: Any) -> Any:
        """Refuse a call."""
        raise Refusal("no")

    def refusal_text(self, text: str) -> str:
        """Return the text as the server writes it."""
        return f"Internal: {text}"


@pytest.mark.parametrize("name", FAILURES)
def test_a_refused_call_is_noted(name: str) -> None:
    """The exception has Triton's text, the note its danger."""
    backend = Refusing()
    with pytest.raises(TritonModelException) as caught:
        NOTES[name](control_functions(backend))

    assert f"{FAILURES[name]}: Internal: no" == str(caught.value)
    assert [
        f"{FAILURES[name]}: on Triton 24.10 the server may end here or at the next "
        "such call, also if this exception is caught. Make no call that is refused."
    ] == backend.notes


@pytest.mark.parametrize(
    ("files", "is_noted"),
    [
        ({"file:1/model.py": b"ab", "file:1/x": b"abc"}, True),
        ({"file:1/model.py": b"abc", "file:1/x": b"abc"}, False),
        ({"file:1/model.py": b"abc"}, False),
        (None, False),
    ],
)
def test_files_of_different_sizes_have_a_note(files: Any, is_noted: bool) -> None:
    """Triton adds zero bytes to the shorter ones; here they are as given."""
    backend, loaded = Refusing(is_refusing=False), []
    backend.load_model = lambda *arguments: loaded.append(arguments)
    control_functions(backend)["load_model"]("m\0x", "{}\0", files)

    assert [("m", "{}", files or {})] == loaded
    assert [
        "load_model() with files of different sizes adds zero bytes to the shorter "
        "ones on Triton 24.10. Write the model to the repository instead."
    ] * is_noted == backend.notes
