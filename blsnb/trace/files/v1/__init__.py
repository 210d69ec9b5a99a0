"""Run files of version 1, which are only read."""
