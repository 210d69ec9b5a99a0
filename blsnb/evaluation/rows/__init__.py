"""The rows of a data set, read one after the other from whatever users have."""
