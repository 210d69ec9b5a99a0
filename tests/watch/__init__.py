"""Tests of `blsnb.watch`."""
