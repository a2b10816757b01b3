"""
Search results in order
=======================

Each query has documents with grades. ``RankSVM`` learns a score that puts higher grades first, and
compares documents of the same query only.
"""

import numpy as np

from maxmargin import LinearSVC, RankSVM, metrics, report

# %%
# Queries differ in how long their documents are, which says nothing about their grades.
rng = np.random.default_rng(0)
queries, each = 200, 20
qid = np.repeat(np.arange(queries), each)
X = rng.normal(size=(queries * each, 10))
relevance = X[:, 0] + 0.5 * X[:, 1] + 0.8 * rng.normal(size=len(X))
grades = np.digitize(relevance, [0.5, 1.2, 2.0])
X += 3 * rng.normal(size=(queries, 10))[qid]
train, test = qid < 150, qid >= 150

# %%
ranking = RankSVM(C=1e-4).fit(X[train], grades[train], qid=qid[train])
print(ranking.certificate_)
score = ranking.predict(X[test])
print(f"NDCG@10 {metrics.ndcg(grades[test], score, qid=qid[test], k=10):.3f}")

# %%
# A classifier of "relevant or not" does not know of queries.
classifier = LinearSVC(C=0.01).fit(X[train], grades[train] > 0)
other = classifier.decision_function(X[test])
print(f"NDCG@10 {metrics.ndcg(grades[test], other, qid=qid[test], k=10):.3f} of a classifier")

# %%
picture = report.ndcg_by_query(grades[test], score, qid[test])
