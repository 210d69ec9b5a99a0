"""A model evaluated on a data set: its rows, where they run, and the result."""
