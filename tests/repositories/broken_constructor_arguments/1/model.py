"""Cannot be made without an argument."""


class TritonPythonModel:
    def __init__(self, a):
        self.a = a
