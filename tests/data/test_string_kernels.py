"""Kernels of strings by their definitions, letters that are unknown, and numbers hashed."""

import itertools
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.data import ArraySource
from maxmargin.data.features import Hashing, Stats, feature_map


def strings(n=8, length=12, letters="ACGT", seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(row) for row in rng.choice(list(letters), (n, length))]


def gram_of(features, texts, **more):
    X = next(ArraySource(texts, block_bytes=1 << 40).blocks()).X
    Z = feature_map(features).fitted(Stats().add(X)).transform(X)
    return (Z @ Z.T).toarray()


def by_definition(counts):
    """Cosines of counts."""
    gram = [[sum(a[w] * b[w] for w in a) for b in counts] for a in counts]
    length = np.sqrt(np.diag(gram))
    return np.array(gram) / np.where(length == 0, 1, np.outer(length, length))


def words(text, k):
    return [text[p : p + k] for p in range(len(text) - k + 1)]


def near(word, m, letters="ACGT"):
    return [
        "".join(other)
        for other in itertools.product(letters, repeat=len(word))
        if sum(a != b for a, b in zip(word, other)) <= m
    ]


@pytest.mark.parametrize("k", [1, 3])
def test_the_spectrum_counts_words_anywhere(k):
    texts = [*strings(), "ACGTACGTTTTT", "ACG"]  # of any length
    exact = by_definition([Counter(words(text, k)) for text in texts])
    np.testing.assert_allclose(gram_of(f"spectrum:{k}", texts), exact, atol=1e-12)
    np.testing.assert_allclose(gram_of(f"spectrum:{k},bits=24", texts), exact, atol=1e-12)


@pytest.mark.parametrize("m", [0, 1, 2])
def test_a_word_counts_for_those_that_differ_in_few_letters(m):
    texts = strings(6, 10)
    counts = [Counter(w for word in words(t, 3) for w in near(word, m)) for t in texts]
    np.testing.assert_allclose(
        gram_of(f"mismatch:3,m={m}", texts), by_definition(counts), atol=1e-12
    )


@pytest.mark.parametrize("k, span", [(2, 2), (3, 5)])
def test_gappy_words_are_subsequences_of_bounded_span(k, span):
    texts = strings(6, 10)
    counts = [
        Counter(
            "".join(text[p] for p in places)
            for places in itertools.combinations(range(len(text)), k)
            if places[-1] - places[0] < span
        )
        for text in texts
    ]
    found = gram_of(f"gappy:{k},span={span}", texts)
    np.testing.assert_allclose(found, by_definition(counts), atol=1e-12)


@pytest.mark.parametrize("shift", [0, 2])
def test_substrings_may_be_shifted(shift):
    K, texts = 3, strings(6, 10)
    beta = [2 * (K - k + 1) / (K * (K + 1)) for k in range(1, K + 1)]

    def kernel(a, b):
        return sum(
            beta[k - 1] * (1 - abs(p - q) / (shift + 1))
            for k in range(1, K + 1)
            for p, q in itertools.product(range(len(a) - k + 1), repeat=2)
            if abs(p - q) <= shift and a[p : p + k] == b[q : q + k]
        )

    gram = np.array([[kernel(a, b) for b in texts] for a in texts])
    length = np.sqrt(np.diag(gram))
    found = gram_of(f"weighted_degree_shifts:{K},shift={shift},bits=26", texts)
    np.testing.assert_allclose(found, gram / np.outer(length, length), atol=1e-3)


MAPS = ["weighted_degree:3", "spectrum:2", "mismatch:2", "gappy:2,span=3"]


@pytest.mark.parametrize("features", [*MAPS, "weighted_degree_shifts:3"])
def test_words_with_unknown_letters_carry_no_feature(features):
    texts = [*strings(30), "NNNNNNNNNNNN", "ACGTNNACGTAC", "ACGT-RACGTAC"]
    gram = gram_of(features, texts)
    assert gram[-3, -3] == 0
    assert gram[-2, -1] == pytest.approx(gram[-2, -2])  # N, gap and R are all the same nothing
    named = gram_of(f"{features},alphabet=ACGT", texts)
    np.testing.assert_array_equal(gram, named)


def test_proteins_and_other_alphabets_are_known_by_their_letters():
    amino = "ACDEFGHIKLMNPQRSTVWY"
    for texts, alphabet in [
        ([amino, amino[:-1] + "X"], amino),
        (["ACGUACGUACGU", "ACGUNNNNACGU"], "ACGU"),
        (["ABAB", "BABA"], "AB"),
        (["ACGTQACGTACG", "ACGTACGTACGT"], "ACGQT"),  # Q is no nucleotide
    ]:
        X = next(ArraySource(texts, block_bytes=1 << 40).blocks()).X
        assert feature_map("spectrum:1").fitted(Stats().add(X)).alphabet == alphabet


@pytest.mark.parametrize("sparse", [False, True])
def test_hashed_numbers_keep_their_products(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 50)) * (rng.random((10, 50)) < 0.5)
    Z = Hashing(bits=22).transform(sp.csr_matrix(X) if sparse else X)
    np.testing.assert_allclose((Z @ Z.T).toarray(), X @ X.T, atol=1e-12)
    assert Hashing(bits=3).transform(X).shape == (10, 8)


@pytest.mark.parametrize(
    "features, told",
    [
        ("spectrum:17", "hash them"),
        ("mismatch:3,m=5", "m must be"),
        ("gappy:4,span=2", "span must be"),
        ("weighted_degree_shifts:3,bits=0", "bits must be"),
        ("hashing:0", "bits must be"),
    ],
)
def test_maps_that_cannot_be_are_refused(features, told):
    with pytest.raises(ValueError, match=told):
        gram_of(features, strings())
