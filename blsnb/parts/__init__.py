"""The parts of a server."""
