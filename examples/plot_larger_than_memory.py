"""
Data larger than memory
=======================

Rows are read from a file, block by block, and a cache of a stated size holds those worth visiting
again. The answer has the same certificate as in memory.
"""

import tempfile
from pathlib import Path

from maxmargin import LinearSVC, StreamSVC, data, report

folder = Path(tempfile.mkdtemp())
train, test = data.load_demo()
data.save(train, folder / "train.svm")

# %%
# Eight megabytes for everything: the blocks under way, w, and the cache of rows.
stream = StreamSVC(C=0.1, memory="8MB").fit(folder / "train.svm")
print(stream.certificate_)

# %%
memory = LinearSVC(C=0.1).fit(train.X, train.y)
print(memory.certificate_)
data.save(test, folder / "test.svm")
print(
    f"{stream.score(folder / 'test.svm'):.4f} and {memory.score(test.X, test.y):.4f} on test rows"
)

# %%
picture = report.training_curve(stream.history_, tol=stream.tol)
