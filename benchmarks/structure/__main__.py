"""Compare ``blsnb/`` with its limits: ``python -m benchmarks.structure``.

``--static`` leaves out what needs blsnb to run: the ``Server`` and a request.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

from benchmarks.structure.measure import (
    Limits,
    Structure,
    broken_contracts,
    request_rows,
    server_rows,
    unnamed,
)
from benchmarks.structure.request import walk_request
from benchmarks.structure.rows import Row, table
from benchmarks.structure.source import read_package

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GUIDE_SECTION = "## How a request flows"


def main() -> int:
    """Print the table and the violations; return 1 if there are any."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.structure", description=__doc__
    )
    parser.add_argument("--static", action="store_true", help="read the source only")
    static = parser.parse_args().static
    limits = tomllib.loads((HERE / "limits.toml").read_text())
    structure = Structure("blsnb", read_package(ROOT / "blsnb"), limits)
    rows = structure.rows()
    if not static:
        rows[4:4] = _executed_rows(structure, limits)
    print(table(rows))
    violations = [
        *broken_contracts(structure.imports, list(structure.files), limits),
        *unnamed(limits["request"]["named_files"], _guide()),
        *(row.violation for row in rows if row.violation),
    ]
    for violation in violations:
        print(violation, file=sys.stderr)
    return 1 if violations else 0


def _executed_rows(structure: Structure, limits: Limits) -> list[Row]:
    import blsnb

    with blsnb.Server(runtime="numpy") as server:
        rows = server_rows(server, limits)
    return [*rows, *request_rows(walk_request(), structure.files, limits)]


def _guide() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.partition(GUIDE_SECTION)[2].partition("\n## ")[0]


if __name__ == "__main__":
    sys.exit(main())
