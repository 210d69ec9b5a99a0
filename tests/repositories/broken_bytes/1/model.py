"""Is not UTF-8."""

NAME = "ÿ"
