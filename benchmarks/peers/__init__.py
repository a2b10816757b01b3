"""The competitors, one file each. To add one: write the file, add its class to `PEERS`."""

from __future__ import annotations

from benchmarks.peers.base import Peer, Setting
from benchmarks.peers.dlib_ocas import DlibOcas
from benchmarks.peers.liblinear_multicore import LiblinearMulticore
from benchmarks.peers.liblinear_official import LiblinearOfficial
from benchmarks.peers.ours import OURS
from benchmarks.peers.rehline_ridge import ReHLine
from benchmarks.peers.skglm_svc import SkglmSVC
from benchmarks.peers.sklearn_linearsvc import SklearnLinearSVC
from benchmarks.peers.sklearn_sgd import SklearnSGD
from benchmarks.peers.snapml_svm import SnapML, SnapMLOneThread

PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (
        *OURS,
        SklearnLinearSVC,
        SklearnSGD,
        LiblinearOfficial,
        LiblinearMulticore,
        SnapML,
        SnapMLOneThread,
        DlibOcas,
        ReHLine,
        SkglmSVC,
    )
}


def is_ours(name: str) -> bool:
    return name.startswith("maxmargin")


def find(names: list[str]) -> list[type[Peer]]:
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise SystemExit(f"no peer {unknown[0]!r}; there are: {', '.join(PEERS)}")
    return [PEERS[name] for name in names]


__all__ = ["PEERS", "Peer", "Setting", "find", "is_ours"]
