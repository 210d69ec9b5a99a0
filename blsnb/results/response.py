"""One response of a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from blsnb.arguments import did_you_mean
from blsnb.errors import MissingOutputError, TraceError
from blsnb.printable import printable
from blsnb.tensors.ref import TensorRef

if TYPE_CHECKING:
    from blsnb.trace.files.saved_run import SavedResponse
    from blsnb.trace.spans import Trace


class Response:
    """One response of a request.

    Parameters
    ----------
    refs
        The outputs, frozen.
    error
        Text of the error; None if there is no error.
    final
        Whether it is the last response.
    parameters
        Parameters of the response, set by the model.
    missing
        Returns the reason why the values of some tensors are missing.
    """

    def __init__(
        self,
        refs: tuple[TensorRef, ...],
        error: str | None,
        final: bool,
        parameters: Mapping[str, Any],
        missing: Callable[[list[str]], str] | None = None,
    ) -> None:
        self._missing = missing
        self._refs = {ref.name: ref for ref in refs}
        self._arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.error = error
        self.final = final
        self.parameters = dict(parameters)

    def __repr__(self) -> str:
        outputs = ", ".join(repr(ref)[11:-1] for ref in self._refs.values())
        return printable(f"<Response: {self.error or outputs or 'empty'}>")

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """Return an output as a writable array of shape ``[batch, *dims]``.

        Raises
        ------
        MissingOutputError
            The response has no such output; the text names its outputs.
        TraceError
            The value is no longer kept, or the file of the run does not have it.
        """
        __tracebackhide__ = True
        if name not in self._refs:
            known = ", ".join(self._refs) or "no outputs"
            similar = did_you_mean(str(name), self._refs)
            text = f"no output {name!r}; the response has {known}. {similar}".rstrip()
            raise MissingOutputError(text.removesuffix("."))
        if self._refs[name].evicted:
            named = f"output {name!r}"
            raise TraceError(
                self._missing([named]) if self._missing else f"{named} has no value"
            )
        if name not in self._arrays:
            self._arrays[name] = self._refs[name].view().copy()
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the outputs, in the model's order."""
        return iter(self._refs)

    def keys(self) -> list[str]:
        """Return the names of the outputs, for ``dict(response)``."""
        return list(self)

    @property
    def outputs(self) -> dict[str, np.ndarray[Any, Any]]:
        """The outputs by name, in the model's order."""
        return {name: self[name] for name in self._refs}

    def saved(self) -> SavedResponse:
        """Return the response as saved in a file."""
        from blsnb.trace.files.saved_run import SavedResponse

        refs = tuple(self._refs.values())
        return SavedResponse(refs, self.error, self.final, self.parameters)


def recorded_responses(trace: Trace) -> tuple[list[Response], str | None]:
    """Return the responses of the first client request, and its error."""
    # Deferred: a request needs no trace.
    from blsnb.trace.dropped import missing_values

    if not trace.roots:
        return [], None
    root = trace.spans[trace.roots[0]]
    missing = partial(missing_values, trace)
    answers = [(sent.outputs, sent.error or None) for sent in root.responses]
    answers = answers or ([(root.outputs, None)] if root.outputs else [])
    responses = [
        Response(outputs, error, number == len(answers), {}, missing)
        for number, (outputs, error) in enumerate(answers, 1)
    ]
    # An error that a stream sent is one of the responses.
    failed = not any(response.error for response in root.responses)
    return responses, (root.error or None) if failed else None


def is_unrecorded(trace: Trace) -> bool:
    """Whether the tensors of a completed client request were not recorded."""
    return any(not (span.has_tensors or span.running) for span in trace.spans[:1])
