"""Is indented wrongly."""


class TritonPythonModel:
    def execute(self, requests):
    return []
