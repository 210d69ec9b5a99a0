"""Classes of older releases, without later features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from blsnb.pb_utils import response as newest_response
from blsnb.pb_utils import response_iterator as newest_iterator
from blsnb.pb_utils.compiled.compiled_type import MODULE
from blsnb.pb_utils.compiled.errors import TritonError
from blsnb.pb_utils.compiled.releases import Release, has, too_new
from blsnb.pb_utils.compiled.signature import compiled
from blsnb.pb_utils.tensor import Tensor

_MAX_ARGUMENTS = 2
"""Maximum positional arguments of an older response."""


class _Absent:
    """Hides a newer class's method from the class and its objects."""

    def __init__(self, feature: str) -> None:
        self._feature = feature

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        subject = f"'{MODULE}.{owner.__name__}' object"
        if instance is None:
            subject = f"type object '{MODULE}.{owner.__name__}'"
        error = AttributeError(
            f"{subject} has no attribute {self._name!r}", name=self._name, obj=instance
        )
        error.add_note(too_new(self._feature))
        raise error


class _Older:
    """An object whose ``dir`` omits hidden methods."""

    __slots__ = ()
    _absent: tuple[str, ...] = ()

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in self._absent]


class InferenceResponse(newest_response.InferenceResponse, _Older):
    """A response without parameters."""

    __slots__ = ()
    _absent = ("parameters",)
    parameters: Any = _Absent("response_parameters")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        try:
            _construct(self, *args, **kwargs)
        except TypeError as error:
            if "parameters" in kwargs or len(args) > _MAX_ARGUMENTS:
                error.add_note(too_new("response_parameters"))
            raise


@compiled(
    "c_python_backend_utils.InferenceResponse(output_tensors: "
    "List[c_python_backend_utils.Tensor] = [], "
    "error: c_python_backend_utils.TritonError = None)"
)
def _construct(
    self: newest_response.InferenceResponse,
    output_tensors: Sequence[Tensor] = (),
    error: TritonError | None = None,
) -> None:
    # Unwrapped, or the error would contain the newer signature.
    construct: Any = newest_response.InferenceResponse.__init__
    construct.__wrapped__(self, output_tensors, error)


class ResponseIterator(newest_iterator.ResponseIterator, _Older):
    """An iterator that cannot be cancelled."""

    __slots__ = ()
    _absent = ("cancel",)
    cancel: Any = _Absent("iterator_cancel")


class Classes(NamedTuple):
    """The classes that differ between releases."""

    response: type[newest_response.InferenceResponse]
    iterator: type[newest_iterator.ResponseIterator]


def classes_of(release: Release) -> Classes:
    """Return the classes of a release."""
    return Classes(
        newest_response.InferenceResponse
        if has("response_parameters", release)
        else InferenceResponse,
        newest_iterator.ResponseIterator
        if has("iterator_cancel", release)
        else ResponseIterator,
    )
