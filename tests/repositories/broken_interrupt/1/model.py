"""Interrupts itself in `initialize`."""


class TritonPythonModel:
    def initialize(self, args):
        raise KeyboardInterrupt("stop")
