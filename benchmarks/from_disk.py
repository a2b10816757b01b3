"""python -m benchmarks.from_disk: one large file, solved where it lies by every way there is.

covtype over and over, as a row store of --gigabytes (its rows many times what stays in memory):
Newton's method and cutting planes, a pass over the file for each product, and the cached loops
within --memory. Each is the whole command, in a process of its own: seconds to --tol, passes (or
iterations), the certificate, and the most memory. With --dask the same rows as files in memory on
two workers of one thread, beside one process of two threads that has them in memory.
"""

from __future__ import annotations

import resource
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import options, peak
from benchmarks.paths import BUILD
from benchmarks.reports import measured_on, put, table
from benchmarks.stream import Repeated
from maxmargin import LinearSVC, data
from maxmargin.data import write_store

WAYS = {
    "Newton": ["--from-disk", "--solver", "newton"],
    "cutting planes (OCAS)": ["--from-disk", "--solver", "ocas"],
    "cached loops": ["--kind", "stream"],
}
SECTIONS = ["A large file where it lies", "The same rows on a cluster"]


def main() -> None:
    p = options.parser(__doc__ or "", sets="")
    p.add_argument("--gigabytes", type=float, default=2.0)
    p.add_argument("--memory", default="256MB", help="of the cached loops")
    p.add_argument("--C", type=float, default=1.0, help="of covtype once")
    p.add_argument("--tols", default="1e-3,1e-6")
    p.add_argument("--max-time", type=float, default=60.0, help="seconds of a fit")
    p.add_argument("--ways", default=",".join(WAYS))
    p.add_argument("--dask", action="store_true", help="the cluster instead")
    p.add_argument("--keep", action="store_true", help="keep the file")
    given = p.parse_args()
    path, copies = large_file(given)
    try:
        section = on_cluster(given, path, copies) if given.dask else from_disk(given, path, copies)
    finally:
        if not given.keep:
            path.unlink()
    head = ["# One large file", "`python -m benchmarks.from_disk`, and with `--dask`."]
    title = SECTIONS[given.dask]
    text = section + "\n\n" + measured_on("scipy", "pyarrow", "dask")
    put(given.out / "from_disk.md", head, SECTIONS, {title: text})
    print(text)


def large_file(given: Namespace) -> tuple[Path, int]:
    """covtype so many times that its store has the size asked for."""
    X, y = options.load("covtype", given)
    X = X.astype(np.float32)
    copies = max(1, round(given.gigabytes * 1e9 / (X.data.nbytes + X.indices.nbytes + 16 * len(y))))
    path = BUILD / "stream" / f"covtype-{copies}.arrow"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        write_store(Repeated(X, y, copies), path)
    return path, copies


def from_disk(given: Namespace, path: Path, copies: int) -> str:
    rows = []
    for name in given.ways.split(","):
        for tol in given.tols.split(","):
            rows.append(one_way(given, path, copies, name, tol))
            print(*rows[-1], flush=True)
    header = ["by", "tol", "seconds of the fit", "of the command", "of CPU", "iterations"]
    header += ["relative gap", "status", "peak, MB"]
    return (
        f"covtype {copies} times: {path.stat().st_size / 1e9:.2f} GB, C = {given.C:g} / {copies}, "
        f"float32; the cached loops have memory={given.memory}; a fit ends after "
        f"{given.max_time:g} s.\n\n" + table(header, rows)
    )


def one_way(given: Namespace, path: Path, copies: int, name: str, tol: str) -> list[Any]:
    model = path.with_suffix(".model")
    arguments = ["train", *WAYS[name], "-c", repr(given.C / copies), "-B", "-1", "-e", tol]
    arguments += ["--max-time", str(given.max_time), "--threads", str(given.threads)]
    if name == "cached loops":
        arguments += ["--memory", given.memory]
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    told, highest = peak.run(*arguments, str(path), str(model))
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    model.unlink(missing_ok=True)
    proof = told["certificate"]
    facts = [proof["seconds"], seconds, cpu, proof["n_iter"], f"{proof['relative_gap']:.1e}"]
    return [name, tol, *facts, proof["status"], round(highest / 1e6)]


def share_of(path: str, k: int, parts: int) -> data.Dataset:
    """Every block of the file whose turn it is, in memory."""
    blocks = [block for j, block in enumerate(data.open_source(path).blocks()) if j % parts == k]
    import scipy.sparse as sp

    return data.Dataset(
        sp.vstack([block.X for block in blocks], format="csr"),
        np.concatenate([block.y for block in blocks]),
    )


def on_cluster(given: Namespace, path: Path, copies: int) -> str:
    """Two workers of one thread, and one process of two threads, the rows in memory of both."""
    import dask
    from distributed import Client, LocalCluster

    from benchmarks.distributed_rows import count_rounds
    from maxmargin import distributed as ours

    rows = []
    for tol in map(float, given.tols.split(",")):
        shared = {"C": given.C / copies, "tol": tol, "solver": "newton", "fit_intercept": False}
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
            count_rounds() as rounds,
        ):
            parts = [dask.delayed(share_of)(str(path), k, 8) for k in range(8)]
            there = ours.LinearSVC(**shared, client=client).fit(parts)
        whole = share_of(str(path), 0, 1)
        here = LinearSVC(**shared, n_jobs=2).fit(whole.X, whole.y)
        del whole
        for who, model, count in (
            ("two workers", there, str(rounds.count)),
            ("one process", here, ""),
        ):
            proof = model.certificate_
            rows.append([who, f"{tol:g}", proof.seconds, proof.n_iter, count])
            rows[-1] += [f"{proof.primal:.8g}", f"{proof.relative_gap:.1e}"]
            print(*rows[-1], flush=True)
        ratio = there.certificate_.seconds / here.certificate_.seconds
        rows.append(["ratio", f"{tol:g}", ratio, "", "", "", ""])
    header = ["by", "tol", "seconds of the solve", "iterations", "rounds of tasks or calls"]
    header += ["objective", "relative gap"]
    return (
        f"The file in 8 parts, Newton's method, C = {given.C:g} / {copies}; reading is not "
        "counted.\n\n" + table(header, rows)
    )


if __name__ == "__main__":
    main()
