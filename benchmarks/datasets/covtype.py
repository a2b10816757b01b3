"""Forest cover type, class 2 against the rest, features scaled to [0, 1]. UCI."""

from benchmarks.datasets.base import svmlight

DATA = svmlight("covtype", "581012 x 54, many rows, few features")
