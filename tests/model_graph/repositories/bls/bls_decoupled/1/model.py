import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            in_0 = pb_utils.get_input_tensor_by_name(request, "INPUT0")
            inner = pb_utils.InferenceRequest(
                model_name="square", requested_output_names=["OUT"], inputs=[in_0]
            )
            sender = request.get_response_sender()
            for response in inner.exec(decoupled=True):
                sender.send(pb_utils.InferenceResponse(response.output_tensors()))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
