"""Its input has no dims."""


class TritonPythonModel:
    pass
