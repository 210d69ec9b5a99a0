"""CompiledType: lets a Python class pass for one that pybind11 compiled."""

from __future__ import annotations

from typing import Any, NoReturn

MODULE = "c_python_backend_utils"
_NAME: Any = type.__dict__["__name__"]


def rename_type(cls: type, name: str) -> None:
    """Set the name by which Python's own messages call a class."""
    _NAME.__set__(cls, name)


class CompiledType(type):
    """The class of Triton's compiled classes.

    Python's own messages call such a class by its module and name, while its
    ``__name__`` is the bare one.

    References
    ----------
    pybind11: include/pybind11/detail/class.h, make_new_python_type
    """

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return cls.__qualname__.rpartition(".")[2]

    def __dir__(cls) -> list[str]:
        """List the names, without those that a release does not have."""
        absent = getattr(cls, "_absent", ())
        return [name for name in super().__dir__() if name not in absent]

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        super().__init__(name, bases, body)
        home = str(body.get("__module__"))
        if home.startswith("blsnb.") or home == MODULE:
            cls.__module__ = MODULE
            rename_type(cls, f"{MODULE}.{name}")
            cls._is_ours = True
        else:
            # A model's own subclass: its constructor must call ours.
            cls.__class__ = _SubclassType


CompiledType.__qualname__ = "pybind11_type"
CompiledType.__module__ = "pybind11_builtins"
rename_type(CompiledType, "pybind11_type")


class _SubclassType(CompiledType):
    """The class of a model's subclasses of compiled classes."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        base = next(c for c in cls.__mro__ if "_is_ours" in c.__dict__)
        if isinstance(made, base) and not base._is_constructed(made):  # type: ignore[attr-defined]
            raise TypeError(
                f"{MODULE}.{base.__name__}.__init__() must be called when overriding "
                "__init__"
            )
        return made


rename_type(_SubclassType, "pybind11_type")


class Compiled(metaclass=CompiledType):
    """What compiled objects have in common: no copies, no pickles."""

    __slots__ = ("__weakref__",)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        kind = type(self)
        raise TypeError(f"cannot pickle '{kind.__module__}.{kind.__name__}' object")

    def _is_constructed(self) -> bool:
        """Whether the constructor has run: its first field is there."""
        slots = [
            slot for c in type(self).__mro__ for slot in getattr(c, "__slots__", ())
        ]
        return any(hasattr(self, s) for s in slots if s.startswith("_") and s[1] != "_")


def pass_for_base(cls: CompiledType) -> None:
    """Let a class pass for the one that all compiled classes derive from."""
    cls.__module__, cls.__qualname__ = "pybind11_builtins", "pybind11_object"
    rename_type(cls, "pybind11_builtins.pybind11_object")


pass_for_base(Compiled)
