"""Declares an input of a type that does not exist."""


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "X", "data_type": "FP32", "dims": [2]})
        return config
