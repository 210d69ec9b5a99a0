"""Raises one error from another in `initialize`, without a message."""


class TritonPythonModel:
    def initialize(self, args):
        try:
            {}["weights"]
        except KeyError as missing:
            raise RuntimeError from missing
