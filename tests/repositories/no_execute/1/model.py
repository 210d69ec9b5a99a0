"""A class without `execute`: it loads, and every request fails."""


class TritonPythonModel:
    pass
