"""Hypothesis draws the same examples on every run; no test depends on the speed of a machine."""

from hypothesis import settings

settings.register_profile("maxmargin", derandomize=True, deadline=None)
settings.load_profile("maxmargin")
