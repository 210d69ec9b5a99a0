"""Fails while it declares itself."""


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        raise ValueError("cannot say")
