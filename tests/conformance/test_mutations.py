"""The cases are sharp: one wrong letter in one of our texts, and a case fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import blsnb

from .triton_env import HIDE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

TEXTS = [
    ("pb_utils/tensor.py", "Tensor name cannot be an empty string."),
    ("pb_utils/tensor.py", "NumPy dtype is not supported."),
    ("pb_utils/tensor.py", "DLPack does not have support for string tensors."),
    ("pb_utils/tensor.py", "Tensor must be a DLPack capsule"),
    ("pb_utils/response.py", "Output tensor for inference response"),
    ("pb_utils/request.py", "Correlation ID must be integer or string"),
    ("pb_utils/iterator.py", "Iteration is done for the responses."),
    ("pb_utils/sender.py", "cannot send more than one response."),
    ("pb_utils/sender.py", "Unsupported flag provided."),
    ("pb_utils/sender.py", "Response sender has been closed."),
    ("pb_utils/logger.py", "Logger: No constructor defined!"),
    ("pb_utils/backend.py", "BLS is only supported during"),
    ("pb_utils/config.py", "contains property other than 'decoupled'"),
    ("engine/failure.py", "<EMPTY MESSAGE>"),
    ("engine/engine.py", "is using the decoupled. The current BLS"),
    ("engine/answers.py", "Expected a list in the execute return"),
    ("engine/answers.py", "InferenceResponse objects do not match"),
    ("engine/answers.py", "is using the decoupled mode and"),
    ("engine/catalog.py", "has no available versions"),
    ("engine/validation.py", "already exists in request"),
    ("engine/validation.py", "unexpected inference output"),
    ("engine/validation.py", "unexpected inference input"),
    ("engine/validation.py", "batch-size must be <= "),
    ("engine/validation.py", "incomplete string data for"),
    ("engine/instance.py", "does not implement `execute` method."),
    ("engine/loader.py", "load failed for model"),
]


def mutated(text: str) -> str:
    """Replace the letter in the middle."""
    middle = next(i for i in range(len(text) // 2, len(text)) if text[i].isalpha())
    return f"{text[:middle]}Q{text[middle + 1 :]}"


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the cases say of a copy of blsnb in which each text has one wrong letter.

    They are held against the recorded answers. Each failure shows what it saw, so
    that one run tells of every text by itself.
    """
    folder = tmp_path_factory.mktemp("mutated")
    package = folder / "blsnb"
    ignore = shutil.ignore_patterns("__pycache__", "static")
    shutil.copytree(Path(blsnb.__file__).parent, package, ignore=ignore)
    for name, text in TEXTS:
        source = (package / name).read_text()
        assert 1 == source.count(text), (name, text)
        (package / name).write_text(source.replace(text, mutated(text)))
    # -P: the copy, and not the checkout in the current folder, is imported.
    command = [sys.executable, "-P", "-m", "pytest", str(HERE), "-k", "blsnb", "-vv"]
    command += ["--tb=short", "-p", "no:cacheprovider", "--deselect", __file__]
    env = {**os.environ, "PYTHONPATH": str(folder), HIDE: "1"}
    env.pop("BLSNB_REQUIRE_TRITON", None)
    ended = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300
    )
    assert 1 == ended.returncode, ended.stdout[-3000:]
    return ended.stdout


@pytest.mark.slow
@pytest.mark.timeout(360)
@pytest.mark.parametrize(("name", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_a_wrong_letter_is_caught(failures, name, text):
    """A case fails, and shows the wrong text beside the right one."""
    lines = [line for line in failures.splitlines() if mutated(text) in line]

    assert [] != lines
