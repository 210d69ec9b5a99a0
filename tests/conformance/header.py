"""The first line of pytest's output: who stands behind the conformance tests."""

from __future__ import annotations

from blsnb.parity.environment import installed

from .reference import recording, required


def pytest_report_header() -> str:
    """Say whether the real server answers in this run, or its recorded answers."""
    if recording():
        return "conformance: recording golden answers of a real Triton server"
    if env := installed():
        return f"conformance: beside a real Triton server ({env.package})"
    if required():
        return "conformance: NO real Triton server here, and this run demands one"
    return (
        "conformance: no real Triton server here; its recorded answers in golden/ "
        "stand in (make triton sets one up)"
    )
