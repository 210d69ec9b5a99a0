"""Specification of how the benchmarks run perf_analyzer and read its report."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from benchmarks import perf_analyzer

REPORT = """\
Concurrency,Inferences/Second,Client Send,p50 latency,p90 latency,p99 latency
16,900.5,0,17000,18000,19000
1,1000.5,0,900,950,990
"""
"""perf_analyzer's own order is that of the throughputs."""


def program(folder: Path, *lines: str) -> str:
    """Return the path of a program of the shell that stands for perf_analyzer."""
    path = folder / "program"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return str(path)


def test_loads_are_in_ascending_order(tmp_path):
    """Of each, throughput and percentiles are read."""
    (tmp_path / "report.csv").write_text(REPORT)
    # The report's path is the argument after -f.
    copying = program(
        tmp_path,
        'while [ "$1" != "-f" ]; do shift; done',
        f'cp {tmp_path}/report.csv "$2"',
    )
    found = perf_analyzer.measure(copying, "identity", "http", "127.0.0.1:8000")

    assert [(1, 1000.5, 900, 990), (16, 900.5, 17000, 19000)] == found


def test_its_output_is_the_error_if_there_is_no_report(tmp_path):
    """The reason is in what it prints."""
    failing = program(tmp_path, "echo 'no such model' >&2")

    with pytest.raises(RuntimeError, match="perf_analyzer failed: no such model"):
        perf_analyzer.measure(failing, "identity", "http", "127.0.0.1:8000")


def test_the_program_is_extracted_from_its_wheel(tmp_path):
    """It can be executed."""
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("tritonclient-2.49.0.data/bin/perf_analyzer", "program")
        archive.writestr("tritonclient/__init__.py", "")
    perf_analyzer._extract(tmp_path / "a.whl", tmp_path / "folder")

    [found] = (tmp_path / "folder").iterdir()
    assert ("perf_analyzer", "program") == (found.name, found.read_text())
    assert found.stat().st_mode & 0o111


def test_without_the_index_nothing_is_measured(tmp_path, monkeypatch, capsys):
    """One sentence says so, and what to do."""

    def failed(command, **options):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.delenv(perf_analyzer.PROGRAM, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(perf_analyzer, "_FOLDER", tmp_path / "folder")
    monkeypatch.setattr(subprocess, "run", failed)

    assert perf_analyzer.program(None) is None
    assert (
        "Skipped: perf_analyzer of tritonclient==2.49.0 cannot be downloaded "
        "(CalledProcessError); set $BLSNB_PERF_ANALYZER to its path.\n"
    ) == capsys.readouterr().out
