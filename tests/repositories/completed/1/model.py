"""Declares itself: it has no configuration file."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [2]})
        config.add_input(
            {"name": "Y", "data_type": "TYPE_INT8", "dims": [-1], "optional": True}
        )
        config.add_output({"name": "X", "data_type": "TYPE_FP32", "dims": [2]})
        config.set_max_batch_size(8)
        config.set_dynamic_batching()
        return config

    def execute(self, requests):
        return [pb_utils.InferenceResponse(request.inputs()[:1]) for request in requests]
