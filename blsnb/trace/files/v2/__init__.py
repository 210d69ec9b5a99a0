"""Run files of version 2: chunks that are appended."""
