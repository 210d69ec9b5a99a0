"""Imports a sibling that fails."""

import broken_sibling


class TritonPythonModel:
    pass
