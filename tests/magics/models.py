"""Cells for the tests: small models, each readable in a moment."""

FLOW = "--input X:FP32[-1] --output Y:FP32[-1]"

DOUBLE = f"""%%triton_model double {FLOW}
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            y = pb_utils.Tensor("Y", x * 2)
            answers.append(pb_utils.InferenceResponse([y]))
        return answers
"""

OUTER = f"""%%triton_model outer {FLOW}
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        [request] = requests
        inner = pb_utils.InferenceRequest(
            model_name="double",
            inputs=request.inputs(),
            requested_output_names=["Y"],
        )
        answer = inner.exec()
        if answer.has_error():
            raise pb_utils.TritonModelException(answer.error().message())
        return [pb_utils.InferenceResponse(answer.output_tensors())]
"""

INFER = "import blsnb\nrun = blsnb.infer({name!r}, {{'X': [1.0, 2.0]}})"


def infer(name: str) -> str:
    """Return a cell that runs a model."""
    return INFER.format(name=name)
