"""Declares an input with a key that does not exist."""


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [2], "size": 4})
        return config
