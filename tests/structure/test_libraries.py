"""Specification of the declared libraries: what blsnb imports is what pip installs."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from benchmarks import structure

ROOT = Path(__file__).parents[2]
LIMITS = Path(structure.__file__).parent / "limits.toml"
# tritonclient[grpc] installs grpc; CuPy has a package for each version of CUDA.
DECLARED_BY = {"grpc": "tritonclient", "cupy": "cupy-cuda12x"}


def declared():
    """Return the packages of the dependencies, those of the extras included."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = table["project"]
    optional = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in optional for line in extra)]
    return {re.match(r"[\w.-]+", line)[0].lower() for line in lines}


def test_each_imported_library_is_a_declared_dependency():
    """Another library may cease to bring it."""
    imported = tomllib.loads(LIMITS.read_text(encoding="utf-8"))["libraries"]
    packages = packages_distributions()
    names = {
        DECLARED_BY.get(library) or packages[library][0].lower()
        for library in imported
        if library not in sys.stdlib_module_names
    }

    assert set() == names - declared()
