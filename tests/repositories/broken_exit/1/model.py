"""Leaves in `initialize`."""

import sys


class TritonPythonModel:
    def initialize(self, args):
        sys.exit(3)
