"""A fit, in one place: labels become problems, rows meet a loss and a solver, a model comes out.

Estimators, commands and the Dask face train here; nothing in this folder needs scikit-learn.
"""
