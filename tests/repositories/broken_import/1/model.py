"""Imports what is not there."""

import a_module_that_nobody_has


class TritonPythonModel:
    pass
