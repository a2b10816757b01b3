"""Sets of rows as bits, held against matrices of zeros and ones."""

import numpy as np
import pytest

from maxmargin import _core


def drawn(t, n, seed=0):
    """t sets of n rows: as a matrix, and as the core keeps them."""
    L = (np.random.default_rng(seed).random((t, n)) < 0.4).astype(float)
    sets = _core.RowSets(n)
    for subgrad in L:
        sets.append(-3.5 * subgrad)
    return L, sets


@pytest.mark.parametrize("n", [1, 7, 8, 9, 100, 20_001])
@pytest.mark.parametrize("t", [0, 1, 63, 64, 65, 130])
def test_sums_and_shares_are_products_with_the_matrix(t, n):
    L, sets = drawn(t, n)
    rng = np.random.default_rng(1)
    v, beta, pool = rng.normal(size=n), rng.random(t), _core.Pool(1)
    assert len(sets) == t
    np.testing.assert_allclose(sets.sums(v, pool), L @ v, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(sets.shares(beta, pool), L.T @ beta, rtol=1e-12, atol=1e-12)


def test_kept_sets_move_together_and_new_ones_follow():
    L, sets = drawn(150, 300)
    kept = [0, 3, 64, 65, 140]
    sets.keep(kept)
    more = np.ones(300)
    sets.append(more)
    v = np.random.default_rng(1).normal(size=300)
    wanted = np.vstack([L[kept], more]) @ v
    np.testing.assert_allclose(sets.sums(v, _core.Pool(1)), wanted, atol=1e-10)


def test_threads_do_not_change_the_sums():
    _, sets = drawn(70, 50_000)
    rng = np.random.default_rng(1)
    v, beta = rng.normal(size=50_000), rng.random(70)
    one, three = _core.Pool(1), _core.Pool(3)
    assert (sets.sums(v, one) == sets.sums(v, three)).all()
    assert (sets.shares(beta, one) == sets.shares(beta, three)).all()


@pytest.mark.parametrize("kept", [[1, 0], [0, 0], [3]])
def test_impossible_subsets_are_refused(kept):
    _, sets = drawn(3, 10)
    with pytest.raises(ValueError, match="sets must increase"):
        sets.keep(kept)


def test_wrong_lengths_are_refused():
    _, sets = drawn(3, 10)
    with pytest.raises(ValueError, match="l "):
        sets.append(np.ones(9))
    with pytest.raises(ValueError, match="v "):
        sets.sums(np.ones(11), _core.Pool(1))
    with pytest.raises(ValueError, match="beta "):
        sets.shares(np.ones(2), _core.Pool(1))
