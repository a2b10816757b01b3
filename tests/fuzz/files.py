"""Fuzzes every kind of file that Python reads: `python -m tests.fuzz.files TARGET --seconds 5`.

A changed file loads, or is refused by a ValueError or an OSError. Anything else is a fault: another
exception, a crash, a minute without an end. Checksums are switched off (all are 0), so that changes
reach what they would hide.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if "MAXMARGIN_SANITIZED_CORE" in os.environ:
    import tests.sanitized  # noqa: F401

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
from tests.fuzz import machines, tables
from tests.fuzz.machines import GRADES, SPARSE, VALUES, WORDS, X, Y
from tests.fuzz.mutation import change_bytes, change_json

from maxmargin import StreamSVC, StreamSVR, _core, data
from maxmargin.data import Dataset
from maxmargin.models import load_model

CORPUS = Path(__file__).parent / "corpus"
REFUSALS = (ValueError, OSError)
A_HANG = 60  # seconds


@dataclass
class Target:
    ending: str
    seeds: Callable[[Path], list[bytes]]
    use: Callable[[Path], object]
    change: Callable[[bytes, random.Random, list[bytes]], bytes] = change_bytes


# ---------------------------------------------------------------- data


def written(ending: str, *datasets: Dataset) -> Callable[[Path], list[bytes]]:
    def seeds(folder: Path) -> list[bytes]:
        found = []
        for dataset in datasets:
            data.save(dataset, folder / f"seed{ending}")
            found.append((folder / f"seed{ending}").read_bytes())
        return found

    return seeds


def a_table() -> pa.Table:
    grades = pa.array(GRADES).dictionary_encode()
    return pa.table({"label": list("ab" * 6), "x": X[:, 0], "grade": grades, "n": GRADES})


def parquet_files(folder: Path) -> list[bytes]:
    """Pages of both versions, packed or not, with dictionaries and without."""
    found = written(".parquet", DENSE_SET)(folder)
    for options in (
        {"compression": "zstd", "data_page_version": "2.0"},
        {"compression": "none", "use_dictionary": False, "row_group_size": 5},
    ):
        pa.parquet.write_table(a_table(), folder / "seed", **options)
        found.append((folder / "seed").read_bytes())
    return found


def arrow_files(folder: Path) -> list[bytes]:
    """Files of record batches that are no row stores."""
    found = []
    for compression in (None, "zstd", "lz4"):
        options = pa.ipc.IpcWriteOptions(compression=compression)
        table = a_table()
        with pa.ipc.new_file(folder / "seed", table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=5)
        found.append((folder / "seed").read_bytes())
    return found


def stores(folder: Path) -> list[bytes]:
    found = written(".arrow", DENSE_SET, SPARSE_SET)(folder)
    (folder / "seed.fasta").write_bytes(b">a label=1\nACGT\n>b label=-1\nGG\n")
    for source, compression in (
        (data.open_source(folder / "seed.fasta"), None),
        (data.ArraySource(SPARSE, Y), "zstd"),
    ):
        data.write_store(source, folder / "seed.arrow", compression=compression)
        found.append((folder / "seed.arrow").read_bytes())
    return found


def use_data(path: Path) -> None:
    """Both ways to read a file, and a product with what was read."""
    dataset = data.open(path, threads=1)
    if dataset.X.shape[1] < 1000:
        dataset.X @ np.ones(dataset.X.shape[1])
    drained(data.open_source(path))


def drained(source: data.BlockSource) -> None:
    for block in source.blocks():
        assert block.y is None or len(block.y) == block.X.shape[0]
        assert block.qid is None or len(block.qid) == block.X.shape[0]


def two_line_files(folder: Path) -> list[bytes]:
    """FASTA with labels and without, lines broken or not."""
    return [
        b">a label=1\nACGT\n>b label=-1\nGG\nTT\n" * 3,
        b"; by hand\n" + b">a\nacgtn\n\n>b\nTT\n" * 3,
    ]


def use_strings(path: Path) -> None:
    """As one labelled file, and as one of two classes, with features made of what was read."""
    refused = []
    for opened in (data.open_source, lambda path: data.open_two_classes(path, path)):
        try:
            source = opened(path)
            drained(source)
            StreamSVC(features="spectrum:2", max_iter=1).fit(source)
        except REFUSALS as error:
            refused.append(error)
    if refused:
        raise refused[0]


def use_queries(path: Path) -> None:
    """The file beside 12 rows that says how many of them each query has."""
    rows = path.with_suffix("")
    if not rows.exists():
        data.save(Dataset(X=SPARSE, y=GRADES), rows)
    try:
        assert len(data.open(rows).qid) == len(GRADES)
    finally:
        drained(data.open_source([rows, rows]))


DENSE_SET, SPARSE_SET = Dataset(X=X, y=Y), Dataset(X=SPARSE, y=Y, qid=np.repeat([1, 2], 6))


# ---------------------------------------------------------------- models


def use_model(path: Path) -> None:
    model = load_model(path)
    rows = X if model.encoder is None else tables.a_mixed_table().to_pandas()
    if getattr(model, "rows", None) == "strings":
        rows = WORDS.tolist()
    model.predict(rows) if hasattr(model, "predict") else model.decision_function(rows)
    if getattr(model, "calibration", None) is not None:
        model.probabilities(rows)


def change_model(whole: bytes, random: random.Random, pool: list[bytes]) -> bytes:
    """Mostly a value in a header that stays well-formed, sometimes bytes."""
    if random.random() < 0.3:
        return change_bytes(whole, random, pool)
    size = int.from_bytes(whole[:8], "little")
    header, tensors = json.loads(whole[8 : 8 + size]), whole[8 + size :]
    if random.random() < 0.3:
        header = json.loads(change_json(json.dumps(header), random) or "{}")
    else:
        content = header["__metadata__"]["maxmargin"]
        header["__metadata__"]["maxmargin"] = change_json(content, random)
    text = json.dumps(header).encode("utf-8", "replace")
    return len(text).to_bytes(8, "little") + text + tensors


# ---------------------------------------------------------------- checkpoints


def stream(path: Path, machine: type[StreamSVC | StreamSVR] = StreamSVC) -> Any:
    return machine(checkpoint=path, checkpoint_every=0.0, max_iter=2, n_jobs=1)


def checkpoints(folder: Path) -> list[bytes]:
    found = []
    for machine, y in ((StreamSVC, Y), (StreamSVC, GRADES), (StreamSVR, VALUES)):
        stream(folder / "checkpoint", machine).fit(X, y)
        found.append((folder / "checkpoint").read_bytes())
        (folder / "checkpoint").unlink()
    return found


def resume(path: Path) -> None:
    """Every fit that the file may be from goes on with it, or says why not."""
    content, refused = path.read_bytes(), []
    for machine, y in ((StreamSVC, Y), (StreamSVC, GRADES), (StreamSVR, VALUES)):
        path.write_bytes(content)
        try:
            stream(path, machine).fit(X, y)
        except REFUSALS as error:
            refused.append(error)
    if len(refused) == 3:
        raise refused[0]


TARGETS = {
    "csv": Target(".csv", written(".csv", DENSE_SET), use_data),
    "svmlight": Target(".svm", written(".svm", SPARSE_SET), use_data),
    "parquet": Target(".parquet", parquet_files, use_data),
    "arrow": Target(".arrow", arrow_files, use_data),
    "store": Target(".arrow", stores, use_data),
    "zstd": Target(".svm.zst", written(".svm.zst", SPARSE_SET), use_data),
    "gzip": Target(".csv.gz", written(".csv.gz", DENSE_SET), use_data),
    "fasta": Target(".fa", two_line_files, use_strings),
    "queries": Target(".svm.query", lambda folder: [b"4\n8\n", b"12", b"1\n" * 12], use_queries),
    "encoded-csv": Target(".csv", tables.mixed_csv, tables.use_encoded),
    "encoded-parquet": Target(".parquet", tables.mixed_parquet, tables.use_encoded),
    "encoded-models": Target(".model", tables.encoded_models, use_model, change_model),
    "models": Target(".model", machines.models, use_model, change_model),
    "liblinear": Target(".txt", machines.model_texts, use_model),
    "checkpoint": Target(".checkpoint", checkpoints, resume),
}


# ---------------------------------------------------------------- the loop


def try_input(target: Target, content: bytes, path: Path) -> bool:
    """Whether an input is loaded or refused as it should be; a fault is told."""
    path.write_bytes(content)
    faulthandler.dump_traceback_later(A_HANG, exit=True)
    try:
        target.use(path)
    except REFUSALS:
        pass
    except Exception:
        traceback.print_exc()
        return False
    finally:
        faulthandler.cancel_dump_traceback_later()
    return True


def fuzz(name: str, seconds: float, runs: int, seed: int) -> int:
    """How many inputs were tried; ends the program at the first fault."""
    target, chance = TARGETS[name], random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="maxmargin-fuzz-") as folder:
        seeds = target.seeds(Path(folder))
    kept = CORPUS / name
    inputs = seeds + [file.read_bytes() for file in sorted(kept.glob("*"))]
    # A crash leaves the input where it is.
    path = Path(tempfile.gettempdir()) / f"maxmargin-fuzz-{os.getpid()}{target.ending}"
    end, tried = time.monotonic() + seconds, 0
    while tried < runs and time.monotonic() < end:
        if tried < len(inputs):
            content = inputs[tried]
        else:
            content = target.change(chance.choice(seeds), chance, inputs)
        if not try_input(target, content, path):
            sys.exit(f"fuzz {name}: input {tried} of seed {seed} is kept in {path}")
        tried += 1
    path.unlink(missing_ok=True)
    return tried


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--runs", type=int, default=10**12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    _core.crc32c = lambda *_: 0
    tried = fuzz(options.target, options.seconds, options.runs, options.seed)
    print(f"fuzz {options.target}: {tried} inputs, no fault")


if __name__ == "__main__":
    main()
