"""Backends that execute models without Python code, and stand-ins."""
