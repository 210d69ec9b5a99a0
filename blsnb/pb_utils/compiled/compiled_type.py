"""Python classes that look like ones compiled by pybind11."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

MODULE = "c_python_backend_utils"
_NAME: Any = type.__dict__["__name__"]


def rename_type(cls: type, name: str) -> None:
    """Set the name of a class in Python's own messages."""
    _NAME.__set__(cls, name)


class CompiledType(type):
    """The metaclass of Triton's compiled classes.

    Python's own messages contain such a class's module and name; its ``__name__``
    is without the module.

    References
    ----------
    pybind11: include/pybind11/detail/class.h, make_new_python_type
    """

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return cls.__qualname__.rpartition(".")[2]

    def __dir__(cls) -> list[str]:
        """List the names that the release has."""
        absent = getattr(cls, "_absent", ())
        return [name for name in super().__dir__() if name not in absent]

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        super().__init__(name, bases, body)
        home = str(body.get("__module__"))
        if home.startswith("blsnb.") or home == MODULE:
            cls.__module__ = MODULE
            rename_type(cls, f"{MODULE}.{name}")
            cls._is_compiled = True
        else:
            # A model's own subclass: its constructor must call this one.
            cls.__class__ = _SubclassType


CompiledType.__qualname__ = "pybind11_type"
CompiledType.__module__ = "pybind11_builtins"
rename_type(CompiledType, "pybind11_type")


class _SubclassType(CompiledType):
    """The metaclass of a model's own subclasses of compiled classes."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        instance = super().__call__(*args, **kwargs)
        base = next(c for c in cls.__mro__ if "_is_compiled" in c.__dict__)
        if isinstance(instance, base) and not base._is_constructed(instance):  # type: ignore[attr-defined]
            raise TypeError(
                f"{MODULE}.{base.__name__}.__init__() must be called when overriding "
                "__init__"
            )
        return instance


rename_type(_SubclassType, "pybind11_type")


class Compiled(metaclass=CompiledType):
    """The base of compiled classes; their objects cannot be copied or pickled."""

    __slots__ = ("__weakref__",)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        kind = type(self)
        raise TypeError(f"cannot pickle '{kind.__module__}.{kind.__name__}' object")

    def _is_constructed(self) -> bool:
        """Whether the constructor has run and set a field."""
        slots = [
            slot for c in type(self).__mro__ for slot in getattr(c, "__slots__", ())
        ]
        return any(hasattr(self, s) for s in slots if s.startswith("_") and s[1] != "_")


def pass_for_base(cls: CompiledType) -> None:
    """Name a class like the base of all classes compiled by pybind11."""
    cls.__module__, cls.__qualname__ = "pybind11_builtins", "pybind11_object"
    rename_type(cls, "pybind11_builtins.pybind11_object")


def no_constructor(name: str) -> Callable[..., None]:
    """Return the ``__init__`` of a class that only the backend instantiates."""

    def __init__(self: Any, *_: Any, **__: Any) -> None:
        raise TypeError(f"{MODULE}.{name}: No constructor defined!")

    return __init__


pass_for_base(Compiled)
