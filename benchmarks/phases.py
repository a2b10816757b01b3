"""python -m benchmarks.phases: where OCAS spends its time, and its iterations beside CPA's."""

from __future__ import annotations

import json
import time

import numpy as np
import scipy.sparse as sp

from benchmarks import bundle, machine, options, reports

LOOKED_AT = (("covtype", 1.0), ("imdb", 10.0))


def main() -> None:
    p = options.parser(__doc__ or "", sets="", Cs="0.01,1,10")
    p.add_argument("--tol", type=float, default=1e-3, help="relative duality gap")
    p.add_argument("--max-time", type=float, default=60.0, help="seconds for one run")
    given = p.parse_args()
    names = options.set_names(given)
    looked_at = [(name, C) for name, C in LOOKED_AT if name in names] or [(names[0], 1.0)]
    shares = [share(given, name, C) for name, C in looked_at]
    iterations = [row for name in names for row in compare(given, name, options.numbers(given.Cs))]
    here = machine.describe(given.threads)
    kept = {"machine": here, "tol": given.tol, "phases": shares, "iterations": iterations}
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "phases.json").write_text(json.dumps(kept, indent=1))
    text = report(given, here, shares, iterations)
    print("\n" + text)
    options.write(given, "phases.md", text)


def share(given, name: str, C: float) -> dict:
    """Seconds of each phase, and what the search would cost if it sorted."""
    X, y = options.load(name, given)
    settings = {"tol": given.tol, "threads": given.threads, "max_time": given.max_time}
    bundle.solve(X, y, C, **settings)  # warm: pages, threads
    solution, seconds = bundle.phases(X, y, C, **settings)
    certificate = solution.certificate
    sorting = sorting_search(X, y, C, given) * certificate.n_iter
    total = certificate.seconds
    return {
        "set": name,
        "C": C,
        "iterations": certificate.n_iter,
        "status": str(certificate.status),
        "seconds": total,
        "phases": seconds,
        "seconds_if_sorting": total - seconds["line search"] + sorting,
    }


def sorting_search(X: sp.csr_matrix, y: np.ndarray, C: float, given) -> float:
    """Seconds of one exact line search as the OCAS paper has it: sort the kinks, add up the slopes.

    Measured on a line of the run itself, with numpy's sort, on one thread as sorting is.
    """
    first, later = (
        bundle.solve(X, y, C, tol=given.tol, threads=given.threads, max_iter=k).w for k in (5, 10)
    )
    p, dp = X @ first, X @ (later - first)
    B, constant = -C * y * dp, C * (1 - y * p)
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        k = np.divide(-constant, B, out=np.zeros_like(B), where=B != 0)
        ahead = k > 0
        k, jump = k[ahead], np.abs(B[ahead])
        order = np.argsort(k)
        slopes = np.cumsum(jump[order])
        np.searchsorted(slopes, slopes[-1] / 2)
        best = min(best, time.perf_counter() - start)
    return best


def compare(given, name: str, Cs: list[float]) -> list[dict]:
    X, y = options.load(name, given)
    rows = []
    for C in Cs:
        row: dict = {"set": name, "C": C}
        for method in ("ocas", "cpa"):
            settings = {"tol": given.tol, "threads": given.threads, "max_time": given.max_time}
            certificate = bundle.solve(X, y, C, method, **settings).certificate
            row[method] = certificate.as_dict()
            print(f"  {name} C = {C:g} {method}: {certificate}")
        rows.append(row)
    return rows


def report(given, here: dict, shares: list[dict], iterations: list[dict]) -> str:
    phases = list(shares[0]["phases"])
    header = ["set", "C", "iterations", "seconds", *phases, "with a sorting search", "that is"]
    rows = [
        [
            s["set"],
            f"{s['C']:g}",
            f"{s['iterations']}",
            f"{s['seconds']:.3g}",
            *(f"{s['phases'][p] / s['seconds']:.0%}" for p in phases),
            f"{s['seconds_if_sorting']:.3g} s",
            f"{s['seconds_if_sorting'] / s['seconds']:.1f}x as long",
        ]
        for s in shares
    ]
    parts = [
        "# Inside OCAS",
        f"Relative gap {given.tol:g}. " + machine.sentence(here),
        reports.table(header, rows),
        "The last columns put a search that sorts the kinks (measured on a line of the same run) "
        "in the place of ours.",
        "## Iterations of OCAS and CPA",
        reports.table(
            ["set", "C", "OCAS", "CPA", "seconds OCAS", "seconds CPA", "CPA / OCAS"],
            [versus(row) for row in iterations],
        ),
        conclusion(iterations),
    ]
    return "\n\n".join(parts) + "\n"


def versus(row: dict) -> list[str]:
    ocas, cpa = row["ocas"], row["cpa"]
    ratio = f"{cpa['n_iter'] / max(ocas['n_iter'], 1):.1f}" + ("" if ended(cpa) else " or more")
    return [
        row["set"],
        f"{row['C']:g}",
        *(iterations(c) for c in (ocas, cpa)),
        *(f"{c['seconds']:.3g}" for c in (ocas, cpa)),
        ratio if ended(ocas) else "OCAS did not end",
    ]


def ended(certificate: dict) -> bool:
    return certificate["status"] == "optimal"


def iterations(certificate: dict) -> str:
    if ended(certificate):
        return str(certificate["n_iter"])
    return (
        f"{certificate['n_iter']} (gap {certificate['relative_gap']:.1e}, {certificate['status']})"
    )


def conclusion(rows: list[dict]) -> str:
    worse = [
        f"{row['set']} C = {row['C']:g}"
        for row in rows
        if ended(row["cpa"])
        and not (ended(row["ocas"]) and row["ocas"]["n_iter"] <= row["cpa"]["n_iter"])
    ]
    if worse:
        return f"**OCAS needs more iterations than CPA on: {', '.join(worse)}.**"
    return "OCAS never needs more iterations than CPA."


if __name__ == "__main__":
    main()
