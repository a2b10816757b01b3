"""The five papers again: one module a paper, one function a table or figure.

    python -m benchmarks.papers              all of them (`make reproduce`)
    python -m benchmarks.papers ocas --quick

Every item states what the paper says, what is found here and, in a word computed from the numbers,
whether it holds. Items that cannot be had here are listed with the reason.
"""
