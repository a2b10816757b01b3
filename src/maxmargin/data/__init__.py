"""Where rows come from."""

from maxmargin.data.arrays import ArrayRows, Rows

__all__ = ["ArrayRows", "Rows"]
