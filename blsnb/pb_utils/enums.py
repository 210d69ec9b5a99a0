"""Enumerations of the compiled module: equal to their numbers, never made of them."""

from __future__ import annotations

from typing import Any, ClassVar


class CompiledEnum:
    """A member of a compiled enumeration.

    Parameters
    ----------
    value
        The member's number.

    References
    ----------
    pybind11: include/pybind11/pybind11.h, enum_base
    """

    __slots__ = ("_value",)
    _type_name: ClassVar[str] = ""
    _names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, value: int) -> None:
        if not 0 <= value < len(self._names):
            raise ValueError(f"{value} is no {self._type_name}")
        self._value = value

    @property
    def name(self) -> str:
        """The member's name."""
        return self._names[self._value]

    @property
    def value(self) -> int:
        """The member's number."""
        return self._value

    def __int__(self) -> int:
        return self._value

    __index__ = __int__

    def __hash__(self) -> int:
        return hash(self._value)

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, CompiledEnum):
            return type(self) is type(other) and self._value == other._value
        return isinstance(other, int) and self._value == other

    def __str__(self) -> str:
        return f"{self._type_name}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self._type_name}.{self.name}: {self._value}>"


def _members(cls: type[CompiledEnum]) -> type[CompiledEnum]:
    """Give the class its members as attributes, and their table."""
    members = {name: cls(value) for value, name in enumerate(cls._names)}
    for name, member in members.items():
        setattr(cls, name, member)
    cls.__members__ = members  # type: ignore[attr-defined]
    cls.__module__ = "c_python_backend_utils"
    return cls


@_members
class ErrorCode(CompiledEnum):
    """Codes of a TritonError."""

    __slots__ = ()
    _type_name = "__ErrorCode"
    _names = (
        "UNKNOWN",
        "INTERNAL",
        "NOT_FOUND",
        "INVALID_ARG",
        "UNAVAILABLE",
        "UNSUPPORTED",
        "ALREADY_EXISTS",
        "CANCELLED",
    )


@_members
class LogLevel(CompiledEnum):
    """Levels of the Logger."""

    __slots__ = ()
    _type_name = "LogLevel"
    _names = ("INFO", "WARNING", "ERROR", "VERBOSE")


@_members
class MemoryType(CompiledEnum):
    """Where a tensor is wanted; not the numbering of Triton's C interface."""

    __slots__ = ()
    _type_name = "MemoryType"
    _names = ("TRITONSERVER_MEMORY_GPU", "TRITONSERVER_MEMORY_CPU")


@_members
class MetricKind(CompiledEnum):
    """Kinds of a metric family."""

    __slots__ = ()
    _type_name = "MetricKind"
    _names = ("COUNTER", "GAUGE", "HISTOGRAM")
