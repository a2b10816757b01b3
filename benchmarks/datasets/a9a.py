"""ADULT: income above 50K from 123 indicators. LIBSVM page, `a9a`."""

from benchmarks.datasets.base import svmlight

DATA = svmlight("a9a", "32561 x 123, sparse 0/1")
