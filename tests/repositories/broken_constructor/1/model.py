"""Fails when it is made."""


class TritonPythonModel:
    def __init__(self):
        raise ValueError("constructor boom")
