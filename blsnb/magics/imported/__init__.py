"""Cells of imported folders: reloads, differences, models as cells."""
