"""Sources of models, evaluated without a run: names, calls, arrays."""
