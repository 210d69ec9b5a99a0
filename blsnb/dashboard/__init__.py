"""The live view of a server: its counters, polled, as rates and percentiles."""
