"""A judge of certificates that shares no code with the solvers.

A certificate claims two numbers: `primal`, what the model costs, and `dual`, what every model must
cost at least. Here problems are drawn at random, benign and hostile, and both claims are tested:

`arithmetic`  the objectives by their definitions, in numpy's longest float, with the rounding that
              a plain float64 evaluation of the same sums may have
`optimum`     the least objective of small problems, by an interior-point method of its own
`problem`     a problem as plain data, which can be printed as a test
`drawing`     random problems for every estimator
`hostile`     changes of a drawn problem that no one should need: layouts, sizes, targets, starts
`options`     the parameters that are drawn for each kind
`fitting`     how each estimator is fitted
`machines`    what its fitted attributes claim, by `linear_claims`, `kernel_claims`, `span_claims`
`claim`       what a claim is
`maps`        feature maps by their definitions
`cluster`     fits on a Dask cluster
`judge`       the verdict on one problem
`shrinking`   a refuted problem made small
`tasks`       what a worker process is asked to do
`workers`     problems judged in processes that may hang or crash

Run it by ``make refute``, or ``python -m tests.refute --help``.
"""
