"""Tensors, their types, values, conversions, comparisons and summaries."""
