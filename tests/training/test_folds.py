import numpy as np
import pytest

from maxmargin.training.folds import folds_of


def test_every_row_is_held_out_once():
    for codes, groups in [
        (None, None),
        (np.arange(60) % 3, None),
        (None, np.arange(60) // 4),
        (np.arange(60) % 3, np.arange(60) // 4),
    ]:
        folds = folds_of(5, 60, 0, codes, groups)
        tests = np.concatenate([test for _, test in folds])
        assert sorted(tests) == list(range(60))
        for train, test in folds:
            assert sorted([*train, *test]) == list(range(60))


def test_classes_have_their_share_in_every_fold():
    codes = np.repeat([0, 1], [90, 10])
    for _, test in folds_of(5, 100, 3, codes):
        assert np.sum(codes[test]) == 2


def test_groups_are_never_split_and_fill_the_folds_evenly():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 40, 500)
    sizes = []
    for train, test in folds_of(4, 500, 1, groups=groups):
        assert not set(groups[train]) & set(groups[test])
        sizes.append(len(test))
    assert max(sizes) - min(sizes) <= np.bincount(groups).max()


def test_groups_of_one_class_each_do_not_leave_a_fold_empty():
    groups = np.arange(12) // 2
    folds = folds_of(3, 12, 0, np.arange(12) // 6, groups)
    assert [len(test) for _, test in folds] == [4, 4, 4]


def test_the_seed_decides():
    one, same, other = (folds_of(3, 50, seed)[0][1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((7, 6, 0), "7 folds of 6 rows"),
        ((1, 6, 0), "1 folds of 6 rows"),
        ((3, 6, 0, np.array([0, 0, 1, 1, 2, 2])), "largest class has rows"),
        ((3, 6, 0, None, np.array([1, 1, 1, 2, 2, 2])), "3 folds of 2 groups"),
        ((2, 3, 0, None, np.array([1, 1, 1])), "2 folds of 1 group:"),
        ((2.5, 6, 0), "expected a whole number"),
    ],
)
def test_impossible_folds_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        folds_of(*arguments)
