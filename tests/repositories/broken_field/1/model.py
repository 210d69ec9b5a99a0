"""Its configuration has a field that does not exist."""


class TritonPythonModel:
    pass
