"""Behaviour of Triton's compiled classes: types, signatures, error texts."""
