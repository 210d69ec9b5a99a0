"""Returns a dict instead of the configuration."""


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        return config.as_dict()
