"""Files and folders that belong to one process, complete or absent."""
