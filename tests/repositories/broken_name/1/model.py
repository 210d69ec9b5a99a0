"""Its configuration names another model."""


class TritonPythonModel:
    pass
