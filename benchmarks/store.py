"""python -m benchmarks.store: how fast rows come from disk.

The reader of the row store beside `dd` on the same file, both with a cold cache; svmlight text by
the thread; conversions; and the memory OCAS needs on a store that is never read as a whole. The
store holds a data set again and again until it is as large as asked (--gigabytes). It lies under
--folder, which should be on the disk in question.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import machine, options, reports
from benchmarks.command import plain_text
from benchmarks.paths import BUILD
from maxmargin import data
from maxmargin.data.stream.joined_source import JoinedSource

FITTED = """
import sys, warnings
from maxmargin import LinearSVC
warnings.simplefilter("ignore")
fit = LinearSVC(solver="ocas", max_iter=int(sys.argv[2]), n_jobs=int(sys.argv[3])).fit(sys.argv[1])
print(fit.certificate_.seconds)
"""


def main() -> None:
    p = options.parser(__doc__ or "")
    p.add_argument("--set", default="covtype", help="data set with an svmlight file")
    p.add_argument("--gigabytes", type=float, default=2.0, help="size of the store")
    p.add_argument("--iterations", type=int, default=5, help="of OCAS, for its memory")
    p.add_argument("--repeats", type=int, default=3, help="readings, taken in turn")
    p.add_argument("--folder", type=Path, default=BUILD, help="where the store lies")
    given = p.parse_args()
    text = plain_text(given)
    given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        found = {
            "machine": machine.describe(given.threads),
            "text": text_rates(text, given.threads, given.repeats),
            "conversions": conversion_rates(text, Path(folder)),
        }
        store = large_store(text, Path(folder), given.gigabytes)
        found["store_bytes"] = store.stat().st_size
        found["reading"] = reading_rates(store, given.repeats)
        found["ocas"] = ocas_on_disk(store, given.iterations, given.threads)
    content = report(text, found)
    print("\n" + content)
    options.write(given, "store.json", json.dumps(found, indent=1))
    options.write(given, "store.md", content)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def one_pass(source: data.BlockSource) -> int:
    return sum(block.n for block in source.blocks())


def text_rates(text: Path, most_threads: int, repeats: int) -> list[dict]:
    """Text from the page cache to blocks of CSR rows, and the scan that opening takes."""
    size = text.stat().st_size / 1e6
    rates = []
    for threads in dict.fromkeys((1, most_threads)):
        source = data.open_source(text, threads=threads)
        passes = min(seconds(lambda s=source: one_pass(s)) for _ in range(repeats))
        scans = min(
            seconds(lambda t=threads: data.open_source(text, threads=t)) for _ in range(repeats)
        )
        rates.append(
            {
                "threads": threads,
                "MB/s": size / passes,
                "MB/s a thread": size / passes / threads,
                "opening, MB/s": size / scans,
            }
        )
        print(f"  text: {rates[-1]}")
    return rates


def conversion_rates(text: Path, folder: Path) -> list[dict]:
    """MB of text a second to a row store, by kind of store."""
    kinds: list[dict] = [{}, {"shuffle": True}, {"compression": "lz4"}, {"compression": "zstd"}]
    rates = []
    for kind in kinds:
        target = folder / "converted.arrow"
        taken = seconds(lambda k=kind, t=target: data.write_store(data.open_source(text), t, **k))
        name = ", ".join(f"{key}={value}" for key, value in kind.items()) or "plain"
        rates.append(
            {
                "store": name,
                "MB/s": text.stat().st_size / 1e6 / taken,
                "store, MB": target.stat().st_size / 1e6,
            }
        )
        print(f"  converting: {rates[-1]}")
        target.unlink()
    return rates


def large_store(text: Path, folder: Path, gigabytes: float) -> Path:
    """The rows of the text again and again."""
    once, store = folder / "once.arrow", folder / "rows.arrow"
    data.write_store(data.open_source(text), once)
    times = max(1, round(gigabytes * 1e9 / once.stat().st_size))
    data.write_store(JoinedSource([data.open_source(once)] * times), store)
    once.unlink()
    return store


def forget(path: Path) -> None:
    """Have the system drop the file from its cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def reading_rates(store: Path, repeats: int) -> dict[str, float]:
    """GB/s of dd and of our reader on a cold cache, best of several in turn; and on a warm one."""
    size = store.stat().st_size / 1e9
    source = data.open_source(store)
    command = ["dd", f"if={store}", "of=/dev/null", "bs=4M"]

    def by_dd() -> None:
        subprocess.run(command, check=True, capture_output=True)

    ways: dict[str, Callable[[], object]] = {"dd": by_dd, "reader": lambda: one_pass(source)}
    best: dict[str, float] = {}
    for _ in range(repeats):
        for name, way in ways.items():
            forget(store)
            best[name] = max(best.get(name, 0.0), size / seconds(way))
            print(f"  {name}: {best[name]:.3g} GB/s at best")
    mapped = data.open_source(store, mapped=True)
    best["reader, warm"] = size / min(seconds(lambda: one_pass(source)) for _ in range(2))
    best["mapped, warm"] = size / min(seconds(lambda: one_pass(mapped)) for _ in range(2))
    best["share of dd"] = best["reader"] / best["dd"]
    return best


def ocas_on_disk(store: Path, iterations: int, threads: int) -> dict[str, float]:
    """A process of its own, for its peak of memory."""
    forget(store)
    command = [sys.executable, "-c", FITTED, str(store), str(iterations), str(threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    fit = float(done.stdout)
    passes = 2 * iterations + 1
    return {
        "iterations": iterations,
        "seconds": fit,
        "GB/s of rows": store.stat().st_size / 1e9 * passes / fit,
        "peak memory, MB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
        "rows": data.open_source(store).n,
    }


def report(text: Path, found: dict) -> str:
    reading, ocas = found["reading"], found["ocas"]
    parts = [
        "# Rows from disk",
        f"{text.name}, {text.stat().st_size / 1e6:.1f} MB of text; its rows again and again in a "
        f"row store of {found['store_bytes'] / 1e9:.2f} GB. " + machine.sentence(found["machine"]),
        "## Reading the row store",
        "GB/s, best of several readings taken in turn. Cold: the file was dropped from the cache.",
        reports.table(
            ["dd, cold", "reader, cold", "share of dd", "reader, warm", "mapped, warm"],
            [
                [
                    f"{reading[k]:.3g}"
                    for k in ("dd", "reader", "share of dd", "reader, warm", "mapped, warm")
                ]
            ],
        ),
        "## svmlight text, from the page cache",
        rates_table(found["text"]),
        "## Conversion of text to a row store",
        rates_table(found["conversions"]),
        "## OCAS on the store",
        f"{ocas['iterations']} iterations over {ocas['rows']} rows, two passes each: "
        f"{ocas['seconds']:.1f} s, {ocas['GB/s of rows']:.2f} GB/s of rows, peak memory of the "
        f"process {ocas['peak memory, MB']:.0f} MB.",
    ]
    return "\n\n".join(parts) + "\n"


def rates_table(rates: list[dict]) -> str:
    cells = [[v if isinstance(v, str) else f"{v:.4g}" for v in rate.values()] for rate in rates]
    return reports.table(list(rates[0]), cells)


if __name__ == "__main__":
    main()
