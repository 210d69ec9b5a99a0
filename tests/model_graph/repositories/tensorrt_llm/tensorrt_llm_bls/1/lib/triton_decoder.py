import triton_python_backend_utils as pb_utils


class TritonDecoder:
    def __init__(
        self,
        preproc_model_name="preprocessing",
        postproc_model_name="postprocessing",
        llm_model_name="tensorrt_llm",
        draft_model_name=None,
    ):
        self.preproc_model_name = preproc_model_name
        self.postproc_model_name = postproc_model_name
        self.llm_model_name = llm_model_name
        self.draft_model_name = draft_model_name
        self._preproc_outputs = ["INPUT_ID", "REQUEST_INPUT_LEN"]
        self._postproc_outputs = ["OUTPUT"]

    def _exec_single(self, request):
        response = request.exec(decoupled=False)
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        return response

    def preprocess(self, request):
        text = pb_utils.get_input_tensor_by_name(request, "text_input")
        length = pb_utils.get_input_tensor_by_name(request, "max_tokens")
        query = pb_utils.Tensor("QUERY", text.as_numpy())
        wanted = pb_utils.Tensor("REQUEST_OUTPUT_LEN", length.as_numpy())
        return self._exec_single(
            pb_utils.InferenceRequest(
                model_name=self.preproc_model_name,
                inputs=[query, wanted],
                requested_output_names=self._preproc_outputs,
            )
        )

    def generate(self, tensors, is_draft):
        request = pb_utils.InferenceRequest(
            model_name=self.draft_model_name if is_draft else self.llm_model_name,
            inputs=tensors,
            requested_output_names=["output_ids", "sequence_length"],
        )
        yield from request.exec(decoupled=True)

    def postprocess(self, tokens, lengths):
        return self._exec_single(
            pb_utils.InferenceRequest(
                model_name=self.postproc_model_name,
                inputs=[tokens, lengths],
                requested_output_names=self._postproc_outputs,
            )
        )

    def decode(self, request):
        prepared = self.preprocess(request)
        for response in self.generate(prepared.output_tensors(), False):
            yield self.postprocess(*response.output_tensors())
