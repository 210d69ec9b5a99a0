"""Spans of recorded calls, made when they are read."""
