"""Debugging of models: source lines of cells, steps into child models, pauses."""
