"""Evaluations as pages: distributions, tables, and rows whose runs are a click away."""
