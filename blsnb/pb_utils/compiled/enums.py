"""Enumerations of the compiled module: members equal numbers, but are not numbers."""

from __future__ import annotations

from typing import Any, ClassVar

from blsnb.pb_utils.compiled.compiled_type import MODULE, CompiledType, pass_for_base
from blsnb.pb_utils.compiled.signature import INT32, compiled, integer


class CompiledEnum(metaclass=CompiledType):
    """A member of a compiled enumeration.

    References
    ----------
    pybind11: include/pybind11/pybind11.h, enum_base
    """

    __slots__ = ("_value",)
    _names: ClassVar[tuple[str, ...]] = ()
    __members__: ClassVar[dict[str, Any]] = {}
    _value: int

    @property
    def name(self) -> str:
        """The member's name."""
        known = 0 <= self._value < len(self._names)
        return self._names[self._value] if known else "???"

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
        # As on Triton, members of two enumerations are equal if their numbers are.
        return bool(self._value == other)

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}: {self._value}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _member, (_ENUMS.index(type(self)), self._value)


pass_for_base(CompiledEnum)


def _member(number: int, value: int) -> CompiledEnum:
    member: CompiledEnum = _ENUMS[number](value)
    return member


def _enumeration(owner: str, name: str, names: tuple[str, ...]) -> Any:
    """Return an enumeration whose members are also attributes."""
    path = f"{owner}.{name}" if owner else name

    @compiled(f"{MODULE}.{path}(value: int)")
    def construct(self: CompiledEnum, value: int) -> None:
        self._value = integer(value, INT32)

    body = {
        "__slots__": (),
        "__module__": MODULE,
        "__qualname__": path,
        "__doc__": "\n\n  ".join(["Members:", *names]),
        "__init__": construct,
        "_names": names,
    }
    enumeration: Any = CompiledType(name, (CompiledEnum,), body)
    members = {member: enumeration(value) for value, member in enumerate(names)}
    for member, value in members.items():
        setattr(enumeration, member, value)
    enumeration.__members__ = members
    return enumeration


ErrorCode = _enumeration(
    "TritonError",
    "__ErrorCode",
    (
        "UNKNOWN",
        "INTERNAL",
        "NOT_FOUND",
        "INVALID_ARG",
        "UNAVAILABLE",
        "UNSUPPORTED",
        "ALREADY_EXISTS",
        "CANCELLED",
    ),
)
LogLevel = _enumeration("Logger", "LogLevel", ("INFO", "WARNING", "ERROR", "VERBOSE"))
MemoryType = _enumeration(
    "", "MemoryType", ("TRITONSERVER_MEMORY_GPU", "TRITONSERVER_MEMORY_CPU")
)
"""Numbered differently from Triton's C interface."""
MetricKind = _enumeration("", "MetricKind", ("COUNTER", "GAUGE", "HISTOGRAM"))
_ENUMS = (ErrorCode, LogLevel, MemoryType, MetricKind)
