"""Lacks a parenthesis."""


class TritonPythonModel:
    def initialize(self, args):
        print("never closed"

    def execute(self, requests):
        return []
