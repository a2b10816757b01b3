"""Film reviews, good or bad: tf-idf of words, rows of length 1. Maas et al. 2011."""

from benchmarks.datasets.base import svmlight

DATA = svmlight("imdb", "25000 x 59775, text")
