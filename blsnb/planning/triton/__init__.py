"""Models on a real server: their load, their traces, and their processes."""
