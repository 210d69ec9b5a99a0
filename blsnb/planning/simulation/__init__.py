"""A repository under load in simulated time, by the deciders of the engine."""
