"""The table of losses and rows in the documentation is what machines do."""

import pytest

from tests.contract import every_loss

distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")


@pytest.fixture(scope="module")
def client():
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        yield client


@pytest.mark.filterwarnings("ignore")  # of small data: ports, queries cut by partitions
@pytest.mark.parametrize("name", every_loss.LOSSES)
def test_a_loss_has_one_objective_on_all_rows_or_a_reason(name, client):
    line = every_loss.line_of(name, every_loss.answers(name, client))
    assert line in every_loss.on_page(), "run python -m tests.contract.every_loss"


def test_the_page_has_a_line_for_every_loss_and_no_other():
    assert every_loss.on_page()[:2] == every_loss.head()
    assert len(every_loss.on_page()) == 2 + len(every_loss.LOSSES)


def test_no_loss_is_refused_anywhere():
    assert not [line for line in every_loss.on_page()[2:] if "no:" in line]
