import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            in_0 = pb_utils.get_input_tensor_by_name(request, "INPUT0")
            in_1 = pb_utils.get_input_tensor_by_name(request, "INPUT1")
            name = pb_utils.get_input_tensor_by_name(request, "MODEL_NAME").as_numpy()[
                0
            ]
            inner = pb_utils.InferenceRequest(
                model_name=name.as_numpy()[0].decode("utf-8"),
                requested_output_names=["OUTPUT0", "OUTPUT1"],
                inputs=[in_0, in_1],
            )
            response = inner.exec()
            responses.append(pb_utils.InferenceResponse(response.output_tensors()))
        return responses
