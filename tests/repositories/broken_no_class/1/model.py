"""Has another class than the one that is looked for."""


class PythonModel:
    pass
