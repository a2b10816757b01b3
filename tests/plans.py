"""Plans in one call: what is minimised, and the options of the fit beside it."""

from dataclasses import fields

from maxmargin.parameters import Options
from maxmargin.training.fit import LinearPlan
from maxmargin.training.kernel import KernelPlan
from maxmargin.training.subspace import SparseKernelPlan

OPTIONS = {field.name for field in fields(Options)}


def _plan(kind, given):
    options = Options(**{name: value for name, value in given.items() if name in OPTIONS})
    problem = {name: value for name, value in given.items() if name not in OPTIONS}
    return kind(**problem, options=options)


def linear_plan(**given):
    return _plan(LinearPlan, given)


def kernel_plan(**given):
    return _plan(KernelPlan, given)


def sparse_kernel_plan(**given):
    return _plan(SparseKernelPlan, given)
