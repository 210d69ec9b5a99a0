"""Files and folders that belong to one process, and are whole or absent."""
