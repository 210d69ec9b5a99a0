class TritonPythonModel:
    def execute(self, requests):
        raise NotImplementedError
