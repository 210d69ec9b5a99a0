"""Finder: lets a notebook import the module that otherwise only a server has."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence

_NAMES = frozenset({"triton_python_backend_utils", "c_python_backend_utils"})


class PbUtilsFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the two modules where nobody else does; their BLS calls are refused.

    It stands last in ``sys.meta_path``: inside a Triton container the real
    modules win.
    """

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return how to load one of the two modules, None for any other name."""
        if fullname not in _NAMES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin="blsnb")

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return the module for code that is no model's."""
        # Here, since the module brings the whole room along.
        from blsnb.pb_utils.module import module

        outside, compiled = module.unbound_modules()
        return compiled if spec.name == module.COMPILED_NAME else outside

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the module is complete."""


def install() -> None:
    """Append the finder to ``sys.meta_path``; once is enough."""
    if not any(type(finder) is PbUtilsFinder for finder in sys.meta_path):
        sys.meta_path.append(PbUtilsFinder())
