"""Kernel machines without offset: two-variable steps, grids over one matrix, certificates."""
