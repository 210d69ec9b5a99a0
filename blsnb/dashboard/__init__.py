"""A server as it is now: what is read of it from time to time, and who looks."""
