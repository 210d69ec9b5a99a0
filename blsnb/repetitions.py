"""Repetitions in regular expressions, which some releases of Python match wrongly."""

from __future__ import annotations

import sys

POSSESSIVE = "+" if sys.version_info >= (3, 11, 5) else ""
"""Suffix of a repeated group that keeps no memory for each repetition.

Before Python 3.11.5, as in Debian 12, such a group matches text that its pattern does
not (issues 100061 and 106052 of CPython); there it keeps 240 bytes for each repetition.
What is repeated begins with a run of characters, so that these are few.
"""
