"""Observe the models of a real server: its traces, and its processes."""
