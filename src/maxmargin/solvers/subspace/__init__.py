"""Sparse kernel machines: a linear machine in the span of a few basis vectors."""
