"""Weighted degree features on splice sites: 100000 strings of 398 letters, 34 million features.

    python -m benchmarks.sequences --degree 8 --memory 900MB [stream ocas]

Needs celegans.fasta and celegans.t.fasta in the data folder. The same problem is solved by the
cached loops of a stream and by cutting planes (OCAS), which make the features anew in every pass.
Reports the certificate of `maxmargin train`, its seconds and peak memory, and on the second file
strings scored a second, ROC area and average precision.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import peak, stream_report
from benchmarks.datasets.base import locate
from benchmarks.paths import RESULTS, data_folder
from maxmargin import load


def labels_of(path: Path) -> np.ndarray:
    from maxmargin.data import open_source

    return np.concatenate([block.y for block in open_source(path).blocks()])


def arguments_of(by: str, memory: str) -> list[str]:
    """What tells `maxmargin train` to solve it so."""
    if by == "stream":
        return ["--kind", "stream", "--memory", memory]
    return ["--kind", "linear", "--solver", "ocas", "--from-disk"]


def measured(by: str, chosen: argparse.Namespace, train: Path, test: Path) -> dict:
    """Trains on one file, and scores the other."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    with tempfile.TemporaryDirectory() as place:
        path = str(Path(place) / "sites.model")
        features = ["--features", f"weighted_degree:{chosen.degree}", "-c", str(chosen.C)]
        told, highest = peak.run(
            "train", *arguments_of(by, chosen.memory), *features, str(train), path
        )
        model = load(path)
    trained = time.perf_counter()
    scores = model.decision_function(test)
    scored = time.perf_counter()
    y = labels_of(test) > 0
    return {
        "by": by,
        "degree": chosen.degree,
        "C": chosen.C,
        "memory": chosen.memory,
        "dimensions": model.coef_.shape[1],
        "certificate": told["certificate"],
        "seconds": told["fit_seconds"],
        "peak_bytes_training": highest,
        "strings_per_second_scored": len(y) / (scored - trained),
        "roc_area": float(roc_auc_score(y, scores)),
        "average_precision": float(average_precision_score(y, scores)),
    }


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("by", nargs="*", default=["stream", "ocas"], metavar="stream|ocas")
    p.add_argument("--data")
    p.add_argument("--degree", type=int, default=8)
    p.add_argument("--memory", default="900MB")
    p.add_argument("--C", type=float, default=1.0)
    p.add_argument("--out", type=Path, default=RESULTS)
    chosen = p.parse_args()
    if set(chosen.by) - {"stream", "ocas"}:
        p.error("expected stream, ocas or both")
    folder = data_folder(chosen.data)
    train, test = (locate(folder, name) for name in ("celegans.fasta", "celegans.t.fasta"))
    if train is None or test is None:
        raise SystemExit(f"no celegans.fasta and celegans.t.fasta in {folder}")
    facts = []
    for by in chosen.by:
        facts.append(measured(by, chosen, train, test))
        print(json.dumps(facts[-1], indent=1), flush=True)
    stream_report.write(chosen.out, {stream_report.STRINGS: stream_report.strings(facts)})


if __name__ == "__main__":
    main()
