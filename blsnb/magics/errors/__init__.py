"""Reports of errors in notebooks."""
