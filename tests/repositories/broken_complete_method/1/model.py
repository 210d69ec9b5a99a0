"""Its `auto_complete_config` is no static method."""


class TritonPythonModel:
    def auto_complete_config(self, config):
        return config
