"""Specification of the names of classes."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import blsnb

PACKAGE = Path(blsnb.__file__).parent
SHARED = {
    "InferenceResponse": "that of an older release is another one",
    "ModelConfig": "Triton has two",
    "ResponseIterator": "that of an older release is another one",
}
"""Names of several classes, and why."""
_CLASS = re.compile(r"^ *class ([A-Za-z]\w*)", re.MULTILINE)


def homes():
    """Return the files that define a class, by its name."""
    found = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in _CLASS.findall(path.read_text(encoding="utf-8")):
            found[name].append(path.relative_to(PACKAGE).as_posix())
    return found


def test_the_name_of_a_class_has_one_meaning():
    """Two classes share a name only where Triton's do."""
    assert SHARED.keys() == {name for name, files in homes().items() if 1 < len(files)}
