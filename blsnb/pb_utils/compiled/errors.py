"""TritonError and TritonModelException: the errors that a model raises and receives."""

from __future__ import annotations

from typing import Any

from blsnb.pb_utils.compiled.compiled_type import Compiled, CompiledType, rename_type
from blsnb.pb_utils.compiled.enums import ErrorCode
from blsnb.pb_utils.compiled.signature import compiled, expect, string

INTERNAL = ErrorCode(1)
CODE_NAMES: tuple[str, ...] = ErrorCode._names


class TritonModelException(Exception):
    """Raised by the backend for its own errors; a model may raise it, too."""


TritonModelException.__module__ = "c_python_backend_utils"


def _code_property(value: int) -> property:
    def code(cls: Any) -> ErrorCode:
        # A new object at each access, as in the compiled class: there `is` between
        # two codes is always False.
        return ErrorCode(value)

    return property(code)


class _Codes(CompiledType):
    """The metaclass of TritonError, with the codes as read-only attributes."""

    def __dir__(cls) -> list[str]:
        return [*super().__dir__(), *CODE_NAMES]


for _number, _name in enumerate(CODE_NAMES):
    setattr(_Codes, _name, _code_property(_number))
_Codes.__qualname__ = CompiledType.__qualname__
_Codes.__module__ = CompiledType.__module__
rename_type(_Codes, "pybind11_type")


class TritonError(Compiled, metaclass=_Codes):
    """The error of a response: a message and a code; not an exception.

    Parameters
    ----------
    message
        The text that the client receives, verbatim.
    code
        One of the codes, such as ``TritonError.NOT_FOUND``; INTERNAL by default.

    Raises
    ------
    TypeError
        An argument has another type; a plain number is not a code.

    References
    ----------
    python_backend: src/pb_stub.cc, PYBIND11_EMBEDDED_MODULE; src/pb_error.cc
    """

    __slots__ = ("_code", "_message")

    @compiled(
        "c_python_backend_utils.TritonError(message: str, code: "
        "c_python_backend_utils.TritonError.__ErrorCode = <__ErrorCode.INTERNAL: 1>)"
    )
    def __init__(self, message: str, code: ErrorCode = INTERNAL) -> None:
        expect(code, ErrorCode)
        self._message = string(message)
        self._code = code

    def __getattr__(self, name: str) -> Any:
        if name in CODE_NAMES:
            return getattr(type(self), name)
        raise AttributeError(
            f"'c_python_backend_utils.TritonError' object has no attribute {name!r}",
            name=name,
            obj=self,
        )

    @compiled("message(self: c_python_backend_utils.TritonError) -> str")
    def message(self) -> str:
        """Return the message."""
        return self._message

    @compiled(
        "code(self: c_python_backend_utils.TritonError) -> "
        "c_python_backend_utils.TritonError.__ErrorCode"
    )
    def code(self) -> ErrorCode:
        """Return the code."""
        return self._code


setattr(TritonError, "__ErrorCode", ErrorCode)
