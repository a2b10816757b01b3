"""IJCNN 2001 challenge, a tenth of the rows positive. LIBSVM page, `ijcnn1`."""

from benchmarks.datasets.base import svmlight

DATA = svmlight("ijcnn1", "49990 x 22, mostly dense")
