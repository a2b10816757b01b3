"""Linear machines over rows that do not fit in memory: dual cached loops."""
