"""Tests of `blsnb.otlp`."""
