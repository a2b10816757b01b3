"""
On a Dask cluster
=================

Workers hold the rows, the driver holds w. Products are exact, so that the answer has the
certificate of a fit on one machine.
"""

import tempfile
from pathlib import Path

from distributed import Client, LocalCluster

from maxmargin import LinearSVC, data, report
from maxmargin import distributed as on_workers

folder = Path(tempfile.mkdtemp())
train, test = data.load_demo()
data.save(train, folder / "train.svm")

# %%
# Here the cluster is two threads of this process; ``Client("tcp://scheduler:8786")`` is a real one.
with (
    LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster,
    Client(cluster) as client,
):
    model = on_workers.LinearSVC(C=0.1).fit([str(folder / "train.svm")])
print(model.certificate_)

# %%
here = LinearSVC(C=0.1, solver="ocas").fit(train.X, train.y)
print(here.certificate_)

# %%
picture = report.training_curve(model.history_, tol=model.tol)
