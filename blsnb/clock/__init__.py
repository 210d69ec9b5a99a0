"""The clock of the engine."""
