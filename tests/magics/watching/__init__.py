"""Tests of `blsnb.magics.watching`."""
