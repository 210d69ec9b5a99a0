"""Its `initialize` takes nothing."""


class TritonPythonModel:
    def initialize(self):
        pass
