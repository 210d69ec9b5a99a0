"""Specification of when a recorded request has ended."""

from __future__ import annotations

import numpy as np
import pytest
import triton_python_backend_utils as pb_utils

from blsnb.recorder.stub.model_recorder import ModelRecorder
from blsnb.recorder.stub.open_executions import OpenExecutions
from blsnb.recorder.stub.settings import RecorderSettings


def test_a_request_ends_when_neither_it_nor_its_sender_is_left():
    """Its model then can answer no more, and its client waits."""
    done = []
    settings = RecorderSettings("")
    executions = OpenExecutions(settings, done.append)
    recorder = ModelRecorder(settings, "m", 1, "m_0", executions, pytest.fail)
    tensor = pb_utils.Tensor("X", np.ones(1, np.int8))
    request = pb_utils.InferenceRequest(
        model_name="m", requested_output_names=["Y"], inputs=[tensor]
    )
    state = recorder.begin(([request],))
    sender = request.get_response_sender()
    recorder.sender_made(recorder.call_of((request,), {}), sender)
    recorder.returned(state, None)
    del state

    del request
    assert [] == done
    del sender
    assert [["m"]] == [[call.model for call in each.calls] for each in done]
