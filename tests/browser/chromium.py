"""Chromium on this machine: where it is, and what it is started with."""

from __future__ import annotations

import os
import shutil

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# The shell has no user interface: pages in it take a fifth less computing.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def executable() -> str | None:
    """Return the browser's path: the one that is named, else the first one found."""
    named = os.environ.get("BLSNB_CHROMIUM")
    return named or next(filter(None, map(shutil.which, _NAMES)), None)


def required() -> bool:
    """Whether a missing browser is a failure, not a reason to skip."""
    return os.environ.get("BLSNB_REQUIRE_BROWSER", "") not in ("", "0")
