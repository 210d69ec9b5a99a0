"""Requests on the default server: ``blsnb.infer`` and its siblings."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from blsnb.inference_server import Server
from blsnb.magics.default_server import server

P = ParamSpec("P")
T = TypeVar("T")


def _on_default(method: Callable[Concatenate[Server, P], T]) -> Callable[P, T]:
    """Return a method of a server as a function on the default server."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        return method(server(), *args, **kwargs)

    shown = inspect.signature(method)
    call.__qualname__ = method.__name__
    call.__signature__ = shown.replace(  # type: ignore[attr-defined]
        parameters=list(shown.parameters.values())[1:]
    )
    return call


infer = _on_default(Server.infer)
async_infer = _on_default(Server.async_infer)
stream = _on_default(Server.stream)
bench = _on_default(Server.bench)
evaluate = _on_default(Server.evaluate)
