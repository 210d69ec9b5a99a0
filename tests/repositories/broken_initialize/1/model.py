"""Fails in `initialize`, one function down."""


class TritonPythonModel:
    def initialize(self, args):
        self.prepare()

    def prepare(self):
        raise ValueError("init boom")
