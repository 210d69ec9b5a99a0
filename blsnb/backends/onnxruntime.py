"""The backend ``onnxruntime``, which runs ONNX models on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from blsnb.backends import onnx_completion, onnx_session
from blsnb.backends.backend import Responses
from blsnb.backends.onnx_tensors import Tensors, tensors_of
from blsnb.backends.onnx_validation import check_tensors, inner_dims
from blsnb.errors import BackendError
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.printable import counted
from blsnb.tensors.dtypes import BYTES, Shape, of_array
from blsnb.tensors.ref import TensorRef, freeze

Array = np.ndarray[Any, Any]


class OnnxRuntime:
    """Creates an ONNX Runtime session for each instance.

    References
    ----------
    onnxruntime_backend: src/onnxruntime.cc
    """

    def complete(self, config: ModelConfig, version: Path) -> ModelConfig:
        """Return a configuration completed from the model's file; see `Backend`."""
        options = onnx_session.session_options(config, 1)
        if onnx_completion.is_complete(config):
            return config
        session = onnx_session.open_session(config, options, version)
        inputs = tensors_of(session.get_inputs())
        outputs = tensors_of(session.get_outputs())
        return onnx_completion.completed(config, inputs, outputs)

    def instance(
        self, config: ModelConfig, spec: InstanceSpec, version: Path
    ) -> OnnxInstance:
        """Return a new instance; see `Backend`."""
        count = len(config.instance_names())
        options = onnx_session.session_options(config, count)
        session = onnx_session.open_session(config, options, version)
        return OnnxInstance(session, config, spec.name)


class OnnxInstance:
    """One session, which executes the requests of a batch together."""

    def __init__(self, session: Any, config: ModelConfig, name: str) -> None:
        inputs = tensors_of(session.get_inputs())
        overridable = tensors_of(session.get_overridable_initializers())
        outputs = tensors_of(session.get_outputs())
        check_tensors(config, inputs, overridable, outputs)
        self._session = session
        self._options = onnx_session.run_options(config)
        self._name = name
        self._max_batch_size = config.max_batch_size
        self._inputs: Tensors = inputs | overridable
        # The order in Triton's responses.
        self._outputs = sorted(spec.name for spec in config.outputs)
        self._scalars = {
            spec.name: inner_dims(spec)
            for spec in config.outputs
            if not outputs[spec.name].dims
        }

    def execute(self, requests: Sequence[RequestMessage]) -> Responses:
        """Run the model once for all requests.

        References
        ----------
        onnxruntime_backend: src/onnxruntime.cc, ModelInstanceState::ProcessRequests
        """
        sizes = [self._batch_size(request) for request in requests]
        self._check_size(sum(sizes))
        feed = {
            ref.name: self._concatenated(ref, requests, sum(sizes))
            for ref in requests[0].inputs
        }
        with onnx_session.onnx_errors():
            arrays = self._session.run(self._outputs, feed, self._options)
        columns = [
            list(self._split(name, array, sizes))
            for name, array in zip(self._outputs, arrays, strict=True)
        ]
        return [
            [ResponseMessage(tuple(column[number] for column in columns))]
            for number in range(len(requests))
        ]

    def _batch_size(self, request: RequestMessage) -> int:
        return request.inputs[0].shape[0] if self._max_batch_size else 1

    def _check_size(self, total: int) -> None:
        if total == 0:
            raise BackendError(
                "a batch of size 0 has no response",
                advice="Triton's backend drops such requests, and their clients wait "
                "indefinitely.",
            )
        if total != 1 and total > self._max_batch_size:
            raise BackendError(
                f"batch size {total} for '{self._name}', max allowed is "
                f"{self._max_batch_size}"
            )

    def _concatenated(
        self, first: TensorRef, requests: Sequence[RequestMessage], total: int
    ) -> Array:
        """Return an input of all requests as one array, joined along the batch."""
        name = first.name
        if name not in self._inputs:
            raise BackendError(
                f"Failed to retrieve the ONNX input tensor info from '{name}'."
            )
        refs = [ref for each in requests for ref in each.inputs if ref.name == name]
        shape: Shape = first.shape
        if self._max_batch_size:
            shape = (total, *shape[1:])
        if not self._inputs[name].dims:
            shape = ()
        if first.dtype is BYTES:
            return _strings(refs).reshape(shape)
        data = b"".join(ref.data for ref in refs if ref.data is not None)
        return np.frombuffer(data, first.dtype.dtype).reshape(shape)

    def _split(
        self, name: str, array: Array, sizes: Sequence[int]
    ) -> Iterator[TensorRef]:
        """Yield each request's part of an output."""
        dtype = of_array(array.dtype)
        assert dtype is not None
        if array.ndim == 0:
            array = array.reshape(self._scalars[name])
        if not self._max_batch_size:
            yield freeze(name, array, dtype)
            return
        if len(array) < sum(sizes):
            raise BackendError(
                f"output '{name}' has {counted(len(array), 'row')} for a batch of "
                f"{sum(sizes)}; Triton reads beyond its end"
            )
        start = 0
        for size in sizes:
            yield freeze(name, array[start : start + size], dtype)
            start += size

    def finalize(self) -> None:
        """Release the session."""
        del self._session


def _strings(refs: Sequence[TensorRef]) -> Array:
    """Return the concatenated elements of BYTES tensors, up to their first zero byte.

    ONNX Runtime's strings end there.
    """
    texts = [text.split(b"\0")[0] for ref in refs for text in ref.view().ravel()]
    try:
        return np.array([text.decode("utf-8") for text in texts], np.object_)
    except UnicodeDecodeError:
        return np.array(texts, np.bytes_)
