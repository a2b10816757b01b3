"""Seconds to a given precision, beside the other solvers of the same problem. See README.md."""
