"""One real cluster for the session: two worker processes of one thread."""

import pytest

distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")


def start_cluster():
    """Two workers, each a process that a nanny replaces when it dies."""
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


@pytest.fixture(scope="session")
def client():
    with start_cluster() as cluster, distributed.Client(cluster) as client:
        yield client
