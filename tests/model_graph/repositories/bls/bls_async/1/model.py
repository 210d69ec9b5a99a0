import asyncio

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    async def execute(self, requests):
        responses = []
        for request in requests:
            in_0 = pb_utils.get_input_tensor_by_name(request, "INPUT0")
            in_1 = pb_utils.get_input_tensor_by_name(request, "INPUT1")
            waiting = []
            for name, output in (("add", "OUTPUT0"), ("sub", "OUTPUT1")):
                inner = pb_utils.InferenceRequest(
                    model_name=name,
                    requested_output_names=[output],
                    inputs=[in_0, in_1],
                )
                waiting.append(inner.async_exec())
            tensors = [r.output_tensors()[0] for r in await asyncio.gather(*waiting)]
            responses.append(pb_utils.InferenceResponse(tensors))
        return responses
