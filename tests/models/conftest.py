import numpy as np
import pytest

from maxmargin.models import LinearModel
from maxmargin.problem import Certificate, Status


def certificate(primal=2.0, dual=1.999):
    return Certificate(primal=primal, dual=dual, status=Status.OPTIMAL, n_iter=7, seconds=0.25)


@pytest.fixture
def binary():
    rng = np.random.default_rng(0)
    return LinearModel(
        coef=rng.normal(size=(1, 5)),
        intercept=np.array([0.3]),
        classes=np.array([-1, 1]),
        certificates=(certificate(),),
        solver="dual",
        parameters={"C": 0.5, "intercept_scaling": 2.0, "class_weight": {-1: 1.0, 1: 2.5}},
    )


@pytest.fixture
def multiclass():
    rng = np.random.default_rng(1)
    return LinearModel(
        coef=rng.normal(size=(3, 5)),
        intercept=rng.normal(size=3),
        classes=np.array([2, 5, 9]),
        certificates=(certificate(), certificate(3.0, 2.0), certificate()),
        solver="ocas",
        feature_names=tuple("abcde"),
        parameters={"C": 1.0, "max_iter": None, "fit_intercept": True},
    )


@pytest.fixture
def X():
    return np.random.default_rng(2).normal(size=(200, 5))
