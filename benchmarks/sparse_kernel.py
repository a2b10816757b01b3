"""Sparse kernel machines: the tables and figures of the CPSP paper, speed, and growth with n.

    python -m benchmarks.sparse_kernel accuracy --sets adult,ijcnn --bases free,training
    python -m benchmarks.sparse_kernel exact    --sets adult,ijcnn
    python -m benchmarks.sparse_kernel speed                            beside SVM-perf's CPSP
    python -m benchmarks.sparse_kernel growth                           training time against n
    python -m benchmarks.sparse_kernel predictions                      beside the exact machine
    python -m benchmarks.sparse_kernel draw                             tables and figures again

Every task adds its numbers to ``results/sparse_kernel.json``, so tasks can be run apart; `draw`
makes ``sparse_kernel.md``, ``sparse_kernel_accuracy.png`` and ``sparse_kernel_objective.png`` of
them.

Splits are the paper's where the files allow: ADULT 20000 / 6281 / 6280 rows of a9a, MNIST's
training file with 5000 / 5000 rows to validate and test (OCR0: the 0 against the rest, OCR*: 0-4
against 5-9), IJCNN the files' own 49990 / 45850 / 45851; the IMDB reviews stand for CCAT. OCR is
trained on 20000 rows, so that the exact machine's matrix fits. Accuracy is that of the test rows.
C and gamma are the same for all methods and sizes of a set: those of the exact machine with the
highest accuracy on the validation rows, of three by three values (`choose`). IJCNN's are older: of
the machine with 50 vectors, at the edge of the grid. The validation rows of
IJCNN are part of the test file that `speed` scores on. One seed throughout, but in `speed`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import svm_perf
from benchmarks.datasets.base import locate, read_idx
from benchmarks.machine import describe
from benchmarks.paths import RESULTS, data_folder
from maxmargin import KernelSVC, SparseKernelSVC, data

SIZES = [10, 20, 50, 100, 200, 500, 1000]
BASES = ["free", "training", "nystroem", "cholesky"]
STORE = RESULTS / "sparse_kernel.json"
SVM_PERF_RUNS = 3


@dataclass
class Split:
    """Rows to train on, to choose C and gamma by, and to test on."""

    X: Any
    y: np.ndarray
    X_valid: Any
    y_valid: np.ndarray
    X_test: Any
    y_test: np.ndarray


# ---------------------------------------------------------------- data


def svmlight(folder: Path, name: str, width: int | None = None) -> tuple[Any, np.ndarray]:
    path = locate(folder, name)
    if path is None:
        raise SystemExit(f"no {name} (plain, .xz, .bz2 or .gz) in {folder}")
    found = data.open(path, n_features=width)
    return found.X, np.where(np.asarray(found.y) > 0, 1.0, -1.0)


def pair(folder: Path, name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Training and test file of a set, of one width."""
    X, y = svmlight(folder, f"{name}.svm")
    X_test, y_test = svmlight(folder, f"{name}.t.svm")
    width = max(X.shape[1], X_test.shape[1])
    return *(widened(X, width), y), *(widened(X_test, width), y_test)


def widened(X: sp.csr_matrix, width: int) -> sp.csr_matrix:
    return sp.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], width))


def adult(folder: Path) -> Split:
    X, y = svmlight(folder, "a9a.svm")
    order = np.random.default_rng(0).permutation(len(y))
    cuts = np.split(order, [20000, 26281])
    return Split(*(part for cut in cuts for part in (X[cut], y[cut])))


def ijcnn(folder: Path) -> Split:
    X, y, X_test, y_test = pair(folder, "ijcnn1")
    X, X_test = X.toarray(), X_test.toarray()
    half = len(y_test) // 2
    return Split(X, y, X_test[:half], y_test[:half], X_test[half:], y_test[half:])


def imdb(folder: Path) -> Split:
    X, y, X_test, y_test = pair(folder, "imdb")
    half = len(y_test) // 2
    order = np.random.default_rng(0).permutation(len(y_test))
    valid, test = order[:half], order[half:]
    return Split(X, y, X_test[valid], y_test[valid], X_test[test], y_test[test])


def digits(folder: Path, positive: Callable[[np.ndarray], np.ndarray], rows: int = 20_000) -> Split:
    """At most 50 000 rows to train on, as in the paper."""
    images = read_idx(folder, "mnist.train-images-idx3-ubyte")
    X = images.reshape(len(images), -1).astype(np.float32) / 255
    y = np.where(positive(read_idx(folder, "mnist.train-labels-idx1-ubyte")), 1.0, -1.0)
    order = np.random.default_rng(0).permutation(len(y))
    train, valid, test = order[:50000][:rows], order[50000:55000], order[55000:]
    return Split(X[train], y[train], X[valid], y[valid], X[test], y[test])


@dataclass(frozen=True)
class Task:
    load: Callable[[Path], Split]
    C: float
    gamma: float
    title: str
    paper_size: int | None  # smallest k within 0.5 points of exact, table 2 of the paper
    sizes: tuple[int, ...] = tuple(SIZES)


TASKS = {
    "adult": Task(adult, 1.0, 0.1, "ADULT (20000 x 123)", 10),
    "ocr0": Task(lambda f: digits(f, lambda d: d == 0), 3.0, 0.04, "OCR0 (20000 x 784)", 20),
    "ocr*": Task(lambda f: digits(f, lambda d: d < 5), 10.0, 0.03, "OCR* (20000 x 784)", 500),
    "ijcnn": Task(ijcnn, 32.0, 1.0, "IJCNN (49990 x 22)", 500),
    "imdb": Task(imdb, 0.9, 0.25, "IMDB for CCAT (25000 x 59775)", 200),
}


# ---------------------------------------------------------------- measuring


def score(model, X, y: np.ndarray) -> float:
    return 100 * float(np.mean(model.predict(X) == y))


def choose(folder: Path, names: list[str], chosen) -> dict:
    """The exact machine on a grid, by validation rows: where C and gamma of `TASKS` come from."""
    result: dict = {}
    for name in names:
        split, task = TASKS[name].load(folder), TASKS[name]
        for gamma in task.gamma * np.array([0.5, 1.0, 2.0]):
            for C in task.C * np.array([0.3, 1.0, 3.0]):
                model = KernelSVC(float(C), gamma=float(gamma), memory=chosen.memory)
                accuracy = score(model.fit(split.X, split.y), split.X_valid, split.y_valid)
                result.setdefault(name, []).append([float(C), float(gamma), accuracy])
                say(f"{name}: C {C:g}, gamma {gamma:g}: {accuracy:.2f} % of validation rows")
    return result


def accuracy(folder: Path, names: list[str], chosen) -> dict:
    """One training a basis gives every size."""
    result: dict = {}
    for name in names:
        split, task = TASKS[name].load(folder), TASKS[name]
        sizes = [k for k in task.sizes if k <= (chosen.largest or k)]
        for basis in chosen.bases.split(","):
            fit = SparseKernelSVC(
                sizes, task.C, gamma=task.gamma, basis=basis, bounds="exact", random_state=0
            ).fit(split.X, split.y)
            rows = [
                {
                    "k": model.n_basis,
                    "accuracy": score(model, split.X_test, split.y_test),
                    "objective": model.certificate.primal,
                    "gap": model.certificate.normalised_gap,
                    "delta": model.bounds[0].delta,
                    "theorem2": model.bounds[0].theorem2,
                    "exact_gap": model.bounds[0].exact_gap,
                    "estimated": model.bounds[0].estimated,
                    "scale": model.certificate.scale,
                }
                for model in fit.path_
            ]
            result.setdefault(name, {})[basis] = rows
            last = rows[-1]
            say(f"{name} {basis}: {last['accuracy']:.2f} % at {last['k']}")
    return result


def exact(folder: Path, names: list[str], chosen) -> dict:
    """The exact machine on the same rows."""
    result = {}
    for name in names:
        split, task = TASKS[name].load(folder), TASKS[name]
        model = KernelSVC(
            task.C,
            gamma=task.gamma,
            stopping="plain",
            memory=chosen.memory,
            max_time=chosen.max_time,
        ).fit(split.X, split.y)
        certificate = model.certificate_
        result[name] = {
            "accuracy": score(model, split.X_test, split.y_test),
            "objective": certificate.primal,
            "dual": certificate.dual,
            "status": str(certificate.status),
            "support": len(model.support_),
        }
        say(f"{name} exact: {result[name]}")
    return result


def best_of(repeats: int, run: Callable[[], Any]) -> tuple[float, Any]:
    """The least seconds of several runs, and what the last one gave."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        found = run()
        seconds.append(time.perf_counter() - began)
    return min(seconds), found


def speed(folder: Path, names: list[str], chosen) -> dict:
    """Training beside SVM-perf's CPSP: whole training files, data in memory; a seed a run."""
    result = {}
    for name, C, gamma, sizes in (("a9a", 1.0, 0.05, (10, 50)), ("ijcnn1", 32.0, 1.0, (200,))):
        X, y, X_test, y_test = pair(folder, name)
        if name == "ijcnn1":
            X, X_test = X.toarray(), X_test.toarray()
        for k in sizes:
            runs = []
            for seed in range(chosen.repeats):
                fit = SparseKernelSVC(k, C, gamma=gamma, random_state=seed)
                began = time.perf_counter()
                model = fit.fit(X, y)
                seconds = time.perf_counter() - began
                accuracy = score(model, X_test, y_test)
                runs.append((seconds, accuracy, model.certificate_.primal))
            means = np.mean(runs, axis=0)
            result[f"{name}, k = {k}"] = {
                "seconds": min(run[0] for run in runs),
                "accuracy": means[1],
                "deviation": float(np.std([run[1] for run in runs])),
                "objective": means[2],
            }
            if svm_perf.is_there():
                options = ["-w", "9", "--i", "2", "--k", str(k), "-t", "2", "-g", str(gamma)]
                c = C * len(y) / 100
                runs = [
                    svm_perf.learn(sp.csr_matrix(X), y, c, options, [sp.csr_matrix(X_test)])
                    for _ in range(min(chosen.repeats, SVM_PERF_RUNS))
                ]
                best = min(runs, key=lambda run: run.seconds)
                result[f"{name}, k = {k}"]["SVM-perf"] = {
                    "seconds": best.seconds,
                    "accuracy": 100 * float(np.mean((best.scores[0] > 0) == (y_test > 0))),
                    "objective": best.objective,
                }
    say(json.dumps(result, indent=1))
    return result


def growth(folder: Path, names: list[str], chosen) -> dict:
    """Seconds against n: ijcnn1 with its test file, k = 50, and covtype, k = 20."""
    X, y, X_test, y_test = pair(folder, "ijcnn1")
    joined = np.vstack([X.toarray(), X_test.toarray()]), np.concatenate([y, y_test])
    X, y = svmlight(folder, "covtype.svm")
    labels = svmlight_labels(folder, "covtype.svm")
    covtype = X, np.where(labels == labels.max(), 1.0, -1.0)
    result: dict = {}
    plans = (
        ("ijcnn1 with its test rows", joined, (12500, 25000, 50000, 100000, 141691), 32.0, 1.0, 50),
        ("covtype", covtype, (31250, 62500, 125000, 250000, 500000), 1.0, 4.0, 20),
    )
    for name, (X, y), counts, C, gamma, k in plans:
        order = np.random.default_rng(0).permutation(len(y))
        for n in counts:
            rows = np.sort(order[:n])
            A, b = X[rows], y[rows]
            fit = SparseKernelSVC(k, C, gamma=gamma)
            seconds, model = best_of(1, lambda fit=fit, A=A, b=b: fit.fit(A, b))
            result.setdefault(name, []).append(
                {"n": n, "k": k, "seconds": seconds, "iterations": model.n_iter_}
            )
            say(f"{name}: {n} rows, {seconds:.2f} s, {model.n_iter_} iterations")
    return result


def svmlight_labels(folder: Path, name: str) -> np.ndarray:
    path = locate(folder, name)
    assert path is not None
    return np.asarray(data.open(path).y)


def predictions(folder: Path, names: list[str], chosen) -> dict:
    """A million rows of covtype by 100 basis vectors, and by the exact machine."""
    X, _ = svmlight(folder, "covtype.svm")
    labels = svmlight_labels(folder, "covtype.svm")
    y = np.where(labels == labels.max(), 1.0, -1.0)
    X = X.toarray()
    order = np.random.default_rng(0).permutation(len(y))
    train = order[:20000]
    million = X[np.resize(order, 1_000_000)]
    part = million[: chosen.exact_rows]
    sparse = SparseKernelSVC(100, 10.0, gamma=4.0).fit(X[train], y[train])
    machine = KernelSVC(10.0, gamma=4.0).fit(X[train], y[train])
    ours, _ = best_of(chosen.repeats, lambda: sparse.to_model().predict(million))
    theirs, _ = best_of(1, lambda: machine.to_model().predict(part))
    theirs *= len(million) / len(part)
    rest = order[20000:120000]
    result = {
        "rows": len(million),
        "basis vectors": sparse.n_basis_,
        "support vectors": len(machine.support_),
        "seconds": ours,
        "exact seconds": theirs,
        "exact rows timed": len(part),
        "ratio": theirs / ours,
        "accuracy": score(sparse, X[rest], y[rest]),
        "exact accuracy": score(machine, X[rest], y[rest]),
    }
    say(json.dumps(result, indent=1))
    return result


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---------------------------------------------------------------- what is kept


def kept() -> dict:
    return json.loads(STORE.read_text()) if STORE.is_file() else {}


def keep(task: str, found: dict) -> None:
    """Adds results; of a set or a basis measured again the new numbers stand."""
    store = kept()
    store["machine"] = describe(2)
    merge(store.setdefault(task, {}), found)
    RESULTS.mkdir(parents=True, exist_ok=True)
    STORE.write_text(json.dumps(store, indent=1) + "\n")


def merge(old: dict, new: dict) -> None:
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            merge(old[key], value)
        else:
            old[key] = value


RUNS = {
    "choose": choose,
    "accuracy": accuracy,
    "exact": exact,
    "speed": speed,
    "growth": growth,
    "predictions": predictions,
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=[*RUNS, "draw"])
    parser.add_argument("--sets", default=",".join(TASKS), help=f"of {', '.join(TASKS)}")
    parser.add_argument("--bases", default=",".join(BASES))
    parser.add_argument("--largest", type=int, help="leave out larger sizes")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--exact-rows", type=int, default=50_000, help="timed of the million")
    parser.add_argument("--memory", default="4GB", help="of the exact machine's kernel rows")
    parser.add_argument("--max-time", type=float, help="of the exact machine")
    parser.add_argument("--data", help="folder of the data files")
    chosen = parser.parse_args(arguments)
    if chosen.task != "draw":
        folder = data_folder(chosen.data)
        if folder is None:
            raise SystemExit("name the folder of the data files: --data or MAXMARGIN_DATA")
        keep(chosen.task, RUNS[chosen.task](folder, chosen.sets.split(","), chosen))
    from benchmarks import sparse_kernel_report

    sparse_kernel_report.write(kept())


if __name__ == "__main__":
    main()
