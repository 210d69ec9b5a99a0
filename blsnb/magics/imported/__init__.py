"""Cells and imported folders: saved files, differences, models as cells."""
