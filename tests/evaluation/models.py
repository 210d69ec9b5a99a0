"""Models that tests of evaluations define."""

from __future__ import annotations

DOUBLE = """
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            if np.isnan(x).any():
                raise pb_utils.TritonModelException("X is not a number")
            y = pb_utils.Tensor("Y", x * 2)
            responses.append(pb_utils.InferenceResponse([y]))
        return responses
"""
TENSORS = """
input { name: "X" data_type: TYPE_FP32 dims: [ 2 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 2 ] }
"""
BATCHING = f"max_batch_size: 8\n{TENSORS}"
CALLER = """
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            called = pb_utils.InferenceRequest(
                model_name="double",
                requested_output_names=["Y"],
                inputs=[pb_utils.get_input_tensor_by_name(request, "X")],
            ).exec()
            responses.append(
                pb_utils.InferenceResponse(called.output_tensors(), called.error())
            )
        return responses
"""
COUNTDOWN = """
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            for number in range(int(x[0]), 0, -1):
                y = pb_utils.Tensor("Y", np.full(2, number, np.float32))
                sender.send(pb_utils.InferenceResponse([y]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
DECOUPLED = f"model_transaction_policy {{ decoupled: true }}\n{TENSORS}"
SUMMING = """
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        self.sum = 0.0

    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            start = pb_utils.get_input_tensor_by_name(request, "START").as_numpy()
            self.sum = (0.0 if start.any() else self.sum) + float(x.flat[0])
            y = pb_utils.Tensor("Y", np.full_like(x, self.sum))
            responses.append(pb_utils.InferenceResponse([y]))
        return responses
"""
SEQUENCES = f"""{BATCHING}
sequence_batching {{
  control_input {{
    name: "START"
    control {{ kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] }}
  }}
}}
"""
