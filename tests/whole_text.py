"""Texts of errors that are compared as a whole: ``match=`` alone finds a part."""

from __future__ import annotations

import re


def whole(text: str) -> str:
    """Return the pattern of this text and no other."""
    return rf"\A{re.escape(text)}\Z"
