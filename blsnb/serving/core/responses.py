"""Responses of models as clients receive them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from blsnb.engine.request.streaming import FinalFlag
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.pb_utils.message import ResponseMessage
from blsnb.serving.core.class_labels import ClassLabels
from blsnb.serving.core.request_rules import RequestRules
from blsnb.serving.core.wire import WireRequest, WireResponse, WireTensor
from blsnb.tensors import byte_strings
from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.ref import TensorRef

_UNSORTED = ("BOOL", "BYTES", "FP16", "BF16")
"""Datatypes that Triton does not classify."""


class ResponseConverter:
    """Converts the responses to one request.

    References
    ----------
    server: src/grpc/infer_handler.cc, InferResponseCompleteCommon
    """

    def __init__(
        self,
        labels: ClassLabels,
        served: Served,
        request: WireRequest,
        rules: RequestRules,
    ) -> None:
        self._rules = rules
        self._labels = labels
        self._served = served
        self._request = request
        # Of an output that is listed twice the first form applies that is not plain.
        self._requested = {
            output.name: output
            for output in reversed(request.outputs)
            if output.class_count is not None or output.window is not None
        }

    def of(self, message: ResponseMessage) -> WireResponse:
        """Return a response to send; an output that cannot be sent is an error."""
        error, code = message.error, message.code
        outputs: tuple[WireTensor, ...] = ()
        if error is None:
            try:
                outputs = tuple(map(self._tensor, message.outputs))
            except RequestError as failure:
                error, code = failure.message, failure.code
        return WireResponse(
            self._request.model_name,
            str(self._served.info.version),
            self._request.fields.request_id,
            outputs,
            message.parameters,
            error,
            code,
            message.final,
            isinstance(message, FinalFlag),
            message.followed,
            message.missed,
        )

    def _tensor(self, ref: TensorRef) -> WireTensor:
        requested = self._requested.get(ref.name)
        data = ref.data or b""
        window = None if requested is None else requested.window
        if window is not None:
            window.write(ref.name, data)
            return WireTensor(ref.name, ref.dtype.datatype, ref.shape, b"", window)
        if requested is not None and requested.class_count is not None:
            return self._classified(ref, requested.class_count)
        return WireTensor(ref.name, ref.dtype.datatype, ref.shape, data)

    def _classified(self, ref: TensorRef, count: int) -> WireTensor:
        labels = self._labels.of(self._served, ref.name)
        batched = self._served.config.max_batch_size > 0
        elements = math.prod(ref.shape[1:] if batched else ref.shape)
        self._rules.check_class_count(ref.name, count, elements)
        return classified(ref, count, labels, batched=batched)


def classified(
    ref: TensorRef, count: int, labels: Sequence[str], *, batched: bool
) -> WireTensor:
    """Return the largest elements of a tensor as ``value:index:label``.

    Parameters
    ----------
    count
        Maximum number of elements, of each row if the tensor is batched.
    labels
        Labels of the elements, perhaps fewer than elements.
    batched
        Whether the first axis is the batch.

    References
    ----------
    server: src/classification.cc, TopkClassifications
    """
    if ref.dtype.datatype in _UNSORTED:
        raise RequestError(
            "class result not available for output due to unsupported type "
            f"'{ref.dtype.datatype}'"
        )
    rows = ref.shape[0] if batched and ref.shape else 1
    size = math.prod(ref.shape[1:] if batched else ref.shape)
    count = min(count, size)
    elements = ref.view().reshape(rows, size)
    texts = [text for row in elements for text in _largest(row, count, labels)]
    shape = (rows, count) if batched and ref.shape else (count,)
    return WireTensor(ref.name, BYTES.datatype, shape, byte_strings.pack(texts))


def _largest(row: np.ndarray[Any, Any], count: int, labels: Sequence[str]) -> list[str]:
    # Integers have a complement, which reverses their order, but not all a negative.
    reversed_row = -row if row.dtype.kind == "f" else ~row
    order = np.argsort(reversed_row, kind="stable")[:count]
    return [_class(row[index], int(index), labels) for index in order]


def _class(value: Any, index: int, labels: Sequence[str]) -> str:
    text = f"{value:f}" if isinstance(value, np.floating) else str(value)
    label = labels[index] if index < len(labels) else ""
    return f"{text}:{index}:{label}" if label else f"{text}:{index}"
