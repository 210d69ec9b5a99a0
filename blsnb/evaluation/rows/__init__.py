"""Rows of a data set, read one after the other from what users have."""
