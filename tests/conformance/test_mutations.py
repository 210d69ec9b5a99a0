"""The cases are sharp: one wrong letter in one of our texts, and a case fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import blsnb
from blsnb.parity.triton.environment import HIDE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

TEXTS = [
    "Tensor name cannot be an empty string.",
    "NumPy dtype is not supported.",
    "DLPack does not have support for string tensors.",
    "Tensor must be a DLPack capsule",
    "Output tensor for inference response",
    "Correlation ID must be integer or string",
    "Iteration is done for the responses.",
    "cannot send more than one response.",
    "Unsupported flag provided.",
    "Response sender has been closed.",
    ": No constructor defined!",
    "BLS is only supported during",
    "contains property other than 'decoupled'",
    "<EMPTY MESSAGE>",
    "is using the decoupled. The current BLS",
    "Expected a list in the execute return",
    "InferenceResponse objects do not match",
    "is using the decoupled mode and",
    "has no available versions",
    "already exists in request",
    "unexpected inference output",
    "unexpected inference input",
    "batch-size must be <= ",
    "incomplete string data for",
    "does not implement `execute` method.",
    "load failed for model",
]


def mutated(text: str) -> str:
    """Replace the letter in the middle."""
    middle = next(i for i in range(len(text) // 2, len(text)) if text[i].isalpha())
    return f"{text[:middle]}Q{text[middle + 1 :]}"


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Failures of the cases on a copy of blsnb with one wrong letter in each text.

    The cases use the recorded answers. Each failure contains its text, so that one run
    covers all of them.
    """
    folder = tmp_path_factory.mktemp("mutated")
    package = folder / "blsnb"
    ignore = shutil.ignore_patterns("__pycache__", "static")
    shutil.copytree(Path(blsnb.__file__).parent, package, ignore=ignore)
    sources = {path: path.read_text() for path in package.rglob("*.py")}
    for text in TEXTS:
        found = [path for path, source in sources.items() if text in source]
        assert found, text
        for path in found:
            sources[path] = sources[path].replace(text, mutated(text))
            path.write_text(sources[path])
    # -P: the copy, and not the checkout in the current folder, is imported.
    command = [sys.executable, "-P", "-m", "pytest", str(HERE), "-k", "blsnb", "-vv"]
    command += ["--tb=short", "-p", "no:cacheprovider", "-m", "not slow"]
    env = {**os.environ, "PYTHONPATH": str(folder), HIDE: "1"}
    env.pop("BLSNB_REQUIRE_TRITON", None)
    ended = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300
    )
    assert 1 == ended.returncode, ended.stdout[-3000:]
    return ended.stdout


@pytest.mark.slow
@pytest.mark.timeout(360)
@pytest.mark.parametrize("text", TEXTS)
def test_a_wrong_letter_is_caught(failures, text):
    """A case fails, and shows the wrong text and the right one."""
    lines = [line for line in failures.splitlines() if mutated(text) in line]

    assert [] != lines
