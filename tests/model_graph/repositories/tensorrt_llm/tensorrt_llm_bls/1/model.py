import json

from lib.triton_decoder import TritonDecoder


def get_parameter(model_config, name, pytype=str):
    if name not in model_config["parameters"]:
        return None
    read = model_config["parameters"][name]["string_value"]
    return pytype(read)


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.decoder = TritonDecoder(
            llm_model_name=get_parameter(config, "tensorrt_llm_model_name"),
            draft_model_name=get_parameter(config, "tensorrt_llm_draft_model_name"),
        )

    def execute(self, requests):
        for request in requests:
            for response in self.decoder.decode(request):
                request.get_response_sender().send(response)
