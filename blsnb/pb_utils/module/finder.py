"""Triton's two modules, importable outside of a model."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

_NAMES = frozenset({"triton_python_backend_utils", "c_python_backend_utils"})


class PbUtilsFinder:
    """Provide the two modules where no other finder does; they refuse BLS calls.

    It is last in ``sys.meta_path``: inside a Triton container the real modules are
    found first.
    """

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of one of the two modules, None for another name."""
        if fullname not in _NAMES:
            return None
        # No class of importlib.abc, whose import takes longer than that of blsnb.
        loader: Any = self
        return importlib.machinery.ModuleSpec(fullname, loader, origin="blsnb")

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return the module."""
        # Imported here, since it imports all of pb_utils.
        from blsnb.pb_utils.module import module

        pure, compiled = module.unbound_modules()
        return compiled if spec.name == module.COMPILED_NAME else pure

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the module is complete."""


def install() -> None:
    """Append the finder to ``sys.meta_path``, unless it has been appended."""
    if not any(type(finder) is PbUtilsFinder for finder in sys.meta_path):
        sys.meta_path.append(PbUtilsFinder())
