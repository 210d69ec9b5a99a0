"""Specification of the variables pane: tensors, requests and responses."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.debugger.values import ValueParts, ValueText, described, parts_of
from blsnb.pb_utils.compiled.errors import TritonError
from blsnb.pb_utils.message import RequestMessage
from blsnb.pb_utils.request import InferenceRequest, receive_request
from blsnb.pb_utils.response import InferenceResponse
from blsnb.pb_utils.tensor import Tensor, state_of, transmit

from .cells import SYNC, line_of, run_of

X = Tensor("X", np.arange(12, dtype=np.float32).reshape(3, 4))
NAMES = Tensor("N", np.array([b"a" * 60, b"c"], dtype=object))


def test_a_tensor_is_shown_with_its_type_shape_and_first_values():
    """Long values are cut."""
    assert "'X' FP32 [3,4]: 0.0, 1.0, 2.0, 3.0, 4.0, …" == described(X)
    assert described(NAMES).startswith("'N' BYTES [2]: b'aaaa")
    assert described(NAMES).endswith("…, b'c'")


def test_a_request_is_shown_with_its_id_parameters_and_inputs():
    """Its parts can be unfolded."""
    request = InferenceRequest(
        model_name="m",
        inputs=[X],
        requested_output_names=["Y"],
        request_id="r1",
        parameters={"k": 1},
    )
    start = "request 'r1' parameters {'k': 1} inputs: 'X' FP32 [3,4]: 0.0"

    assert described(request).startswith(start)
    assert ("r1", [X]) == (parts_of(request)["request_id"], parts_of(request)["inputs"])


def test_a_response_is_shown_without_a_check_of_its_error():
    """Only the model's own `has_error` counts as its check."""
    failed = InferenceResponse(error=TritonError("bad"))

    assert "response with error: bad" == described(failed)
    assert not hasattr(failed, "_asked")
    assert "response outputs: 'X' FP32" in described(InferenceResponse([X]))


def test_a_received_request_lists_the_outputs_that_its_model_sees():
    """A request for all outputs lists their names; its inputs are not copied."""
    message = RequestMessage("m", (transmit(X),), ())
    request = receive_request(
        InferenceRequest, message, message.inputs, ("Y",), None, zero_copy=False
    )

    parts = parts_of(request)
    assert {"Y"} == parts["requested_output_names"]
    assert f"request inputs: {described(X)}" == described(request)
    assert not state_of(parts["inputs"][0]).elements.flags.writeable


@pytest.mark.notebook
def test_the_debugger_shows_these_texts(kernel):
    """JupyterLab shows the value in its table, and the type in its tree."""
    source = SYNC.format(name="shown")
    kernel.run(source)
    kernel.set_dots(source, line_of(source, "x = "))
    request = kernel.start(run_of("shown"))
    thread = kernel.stop_of(request)
    variables = kernel.variables(thread)
    found, kind = variables["request"]["value"], variables["request"]["type"]
    inputs = kernel.below(variables["request"])["inputs"]["type"]
    kernel.finish(thread, request)

    assert "request inputs: 'X' FP32 [2]: 1.0, 2.0" == found
    assert "InferenceRequest inputs: 'X' FP32 [2]: 1.0, 2.0" == kind
    assert "list" == inputs


def test_other_values_keep_their_texts():
    """The provider is for three types."""
    provided = [ValueText().can_provide(kind, "") for kind in (Tensor, dict)]
    parted = [ValueParts().can_provide(kind, "") for kind in (Tensor, InferenceRequest)]

    assert ([True, False], [False, True]) == (provided, parted)
