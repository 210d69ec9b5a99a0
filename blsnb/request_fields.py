"""Fields of a request, as every layer from client to model spells them."""

from __future__ import annotations

from typing import TypeAlias

Parameters: TypeAlias = dict[str, bool | int | float | str]
"""Custom parameters of a request or response, by name."""

# Plain integers: `&` of an `enum.IntFlag` costs a call of Python code.
SEQUENCE_START = 1
"""Bit of a request's flags: the first request of its sequence."""
SEQUENCE_END = 2
"""Bit of a request's flags: the last request of its sequence."""
