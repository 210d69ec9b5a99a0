"""The type stubs tell editors and type checkers the truth about a model."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.notebooks.model_cells import model_cells

ROOT = Path(__file__).parents[2]
STUBS = ROOT / "stubs"
NAMES = ("triton_python_backend_utils", "c_python_backend_utils")
UNREADABLE = {"broken_syntax", "broken_indentation", "broken_bytes"}
STUBTEST = """
import sys
from mypy import stubtest
from blsnb.pb_utils import finder
finder.install()
sys.exit(stubtest.test_stubs(stubtest.parse_options(["--concise", *sys.argv[1:]])))
"""
