"""Fails while it is imported."""


def fail():
    raise RuntimeError("sibling boom")


fail()
