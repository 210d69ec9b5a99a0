"""Rules that a configuration has to satisfy."""
