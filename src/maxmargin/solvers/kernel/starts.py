"""Where a fit starts, on its own or along a path of C (section 2.3 of the no-offset paper).

    I0, W0   a = 0 (Procedure 3)            I1, W1   a = C, the classical kernel rule (4)
    W2       keep a (5)                     W3, W5   scale a by C_new / C_old (8)
    W4       bounded a to C_new (6)         W6       cut a to C_new (7)

In brackets: the paper's Procedures. W4 is for growing C, W6 for falling C.

The order of a path follows from the start: C grows up to W4, falls with W5 and W6. The hybrid start
that the paper proposes but does not try begins with a medium C, where a cold start takes few steps,
and goes on from there by W4 to the larger and by W6 to the smaller ones.

A start sets beta and r of a `RegularisationPath`; after W3 to W6 r is recycled, so that only the
cheaper part of ``f = sum_j beta_j k_j`` is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin import _core
from maxmargin.solvers.kernel.sources import CachedSource, PartialSource

if TYPE_CHECKING:
    from maxmargin.solvers.kernel.path import RegularisationPath

SAMPLE = 32  # points that tell whether the kernel rule is a good start


def start_zero(path: RegularisationPath, c: np.ndarray, ratio: float = 1.0) -> None:
    """I0, W0: ``a = 0`` (Procedure 3)."""
    path.beta[:] = 0.0
    path.r[:] = path.y


def start_kernel_rule(path: RegularisationPath, c: np.ndarray, ratio: float = 1.0) -> None:
    """I1, W1: ``a = C``, the classical kernel rule (Procedure 4)."""
    if isinstance(path.problem.source, PartialSource):
        path.problem.source.fill(path.pool)  # every row is needed
    path.beta[:] = c
    path.r[:] = path.y
    used = np.flatnonzero(c)
    path.add_rows(used, c[used])


def kernel_rule_fits(path: RegularisationPath, c: np.ndarray) -> bool:
    """Whether most points, judged by a sample of them, would stay at ``a = C``.

    So it is at the small C a path begins with; at large C nearly all would have to come down again.
    """
    source = path.problem.source
    if isinstance(source, CachedSource):
        return False
    points = np.flatnonzero(c)
    sample = points[:: max(1, len(points) // SAMPLE)]
    f = source.some_rows(sample) @ c.astype(np.float32)
    return bool(2 * np.count_nonzero(path.y[sample] * f <= 1) >= len(sample))


def start_keep(path: RegularisationPath, c: np.ndarray, ratio: float) -> None:
    """W2: keep a (Procedure 5). Only for growing C."""
    if ratio < 1:
        raise ValueError(
            f"warm start W2 needs growing C; C fell by the factor {ratio:.3g}. Use W5, W6"
        )


def start_scale(path: RegularisationPath, c: np.ndarray, ratio: float) -> None:
    """W3, W5: scale a by C_new / C_old (Procedure 8)."""
    at_bound = path.beta == path.c
    path.beta *= ratio
    path.beta[at_bound] = c[at_bound]
    path.r[:] = path.y - ratio * (path.y - path.r)


def start_expand(path: RegularisationPath, c: np.ndarray, ratio: float) -> None:
    """W4: bounded a to C_new, the rest kept (Procedure 6). Only for growing C.

    f is a sum over bounded and over inner points. The part of the bounded ones is multiplied by the
    ratio; the cheaper of the two parts is computed, the other follows.
    """
    if ratio < 1:
        raise ValueError(
            f"warm start W4 needs growing C; C fell by the factor {ratio:.3g}. Use W5, W6"
        )
    _core.start_expand(
        path.rows, path.ranges, path.beta, path.r, path.y, path.c, c, ratio, path.pool
    )


def start_cut(path: RegularisationPath, c: np.ndarray, ratio: float) -> None:
    """W6: cut a to C_new, the rest kept (Procedure 7). Only for falling C."""
    if ratio > 1:
        raise ValueError(
            f"warm start W6 needs falling C; C grew by the factor {ratio:.3g}. Use W3, W4"
        )
    _core.start_cut(path.rows, path.ranges, path.beta, path.r, path.y, path.c, c, ratio, path.pool)


COLD: dict[str, Callable[..., Any]] = {
    "I0": start_zero,
    "I1": start_kernel_rule,
    "W0": start_zero,
    "W1": start_kernel_rule,
}
WARM: dict[str, Callable[..., Any]] = {
    "W2": start_keep,
    "W3": start_scale,
    "W4": start_expand,
    "W5": start_scale,
    "W6": start_cut,
}
STARTS = COLD | WARM
FALLING = ("W5", "W6")  # starts of paths on which C falls
HYBRID = "hybrid"


def visits(Cs: np.ndarray, warm: str) -> tuple[list[int], list[int]]:
    """The places of C in the order of a path, and of a second branch that leaves from its first."""
    growing = np.argsort(Cs).tolist()
    if warm in FALLING:
        return growing[::-1], []
    if warm != HYBRID:
        return growing, []
    middle = len(growing) // 2
    return growing[middle:], growing[:middle][::-1]
