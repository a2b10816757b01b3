"""Weighted degree features on splice sites: 100000 strings of 398 letters, 34 million features.

    python -m benchmarks.sequences --degree 8 --memory 700MB

Needs celegans.fasta and celegans.t.fasta in the data folder. Reports the certificate, strings a
second, peak memory, and on the second file ROC area and average precision.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

from benchmarks import stream_report
from benchmarks.datasets.base import locate
from benchmarks.paths import RESULTS, data_folder
from maxmargin import StreamSVC


def labels_of(path: Path) -> np.ndarray:
    from maxmargin.data import open_source

    return np.concatenate([block.y for block in open_source(path).blocks()])


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--data")
    p.add_argument("--degree", type=int, default=8)
    p.add_argument("--memory", default="700MB")
    p.add_argument("--C", type=float, default=1.0)
    p.add_argument("--seconds", type=float, default=None)
    p.add_argument("--out", type=Path, default=RESULTS)
    chosen = p.parse_args()
    folder = data_folder(chosen.data)
    train, test = (locate(folder, name) for name in ("celegans.fasta", "celegans.t.fasta"))
    if train is None or test is None:
        raise SystemExit(f"no celegans.fasta and celegans.t.fasta in {folder}")
    began = time.perf_counter()
    model = StreamSVC(
        C=chosen.C,
        features=f"weighted_degree:{chosen.degree}",
        memory=chosen.memory,
        max_time=chosen.seconds,
        verbose=1,
    ).fit(train)
    trained = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    scores = model.decision_function(test)
    scored = time.perf_counter()
    from sklearn.metrics import average_precision_score, roc_auc_score

    y = labels_of(test) > 0
    facts = {
        "degree": chosen.degree,
        "C": chosen.C,
        "memory": chosen.memory,
        "dimensions": model.coef_.shape[1],
        "certificate": model.certificate_.as_dict(),
        "seconds": trained - began,
        "visits_per_second": model.history_[-1].rows_per_second,
        "cache_hit_rate": model.history_[-1].cache_hit_rate,
        "peak_bytes_training": peak,
        "strings_per_second_scored": len(y) / (scored - trained),
        "roc_area": float(roc_auc_score(y, scores)),
        "average_precision": float(average_precision_score(y, scores)),
    }
    print(json.dumps(facts, indent=1))
    stream_report.write(chosen.out, {stream_report.STRINGS: stream_report.strings(facts)})


if __name__ == "__main__":
    main()
