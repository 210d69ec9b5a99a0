"""Calls the model `failing`, and passes what it got on in one of five ways."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            responses.append(self.answer(request))
        return responses

    def answer(self, request):
        how, way = request.inputs()
        inner = pb_utils.InferenceRequest(
            model_name="failing", requested_output_names=["OUT"], inputs=[how]
        ).exec()
        way = way.as_numpy()[0]
        if not inner.has_error() or way == b"response":
            return inner
        if way == b"raised":
            raise pb_utils.TritonModelException(inner.error().message())
        if way == b"error":
            return pb_utils.InferenceResponse(error=inner.error())
        if way == b"message":
            return pb_utils.InferenceResponse(
                error=pb_utils.TritonError(inner.error().message())
            )
        code = pb_utils.TritonError.UNAVAILABLE
        return pb_utils.InferenceResponse(
            error=pb_utils.TritonError("try later", code=code)
        )
