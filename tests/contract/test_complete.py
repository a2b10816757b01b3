"""No estimator, kind of command or Dask class is left out of the contract."""

import pytest

import maxmargin
from maxmargin import distributed, estimators
from maxmargin.cli.kinds import KINDS as COMMANDS
from maxmargin.models.base import kinds

from .machines import KINDS, MACHINES, ON_CLUSTERS

COVERED = {type(machine.make()).__name__ for machine in MACHINES.values()}


def test_every_estimator_is_in_the_contract():
    assert set(estimators.__all__) <= COVERED
    assert set(maxmargin.__all__) >= COVERED


def test_every_kind_of_command_is_in_the_contract():
    assert set(COMMANDS) == set(KINDS)


def test_every_cluster_class_is_in_the_contract():
    classes = {name for name in distributed.__all__ if not name.endswith("Error")}
    assert classes == set(ON_CLUSTERS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_command_is_a_kind_of_model(kind):
    assert kind in kinds()
