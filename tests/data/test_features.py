"""Features made on the fly: their kernels, their names, and what they refuse."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin
from maxmargin import LinearSVC, StreamSVC, _core
from maxmargin.data import ArraySource
from maxmargin.data.features import (
    CharNgrams,
    Fourier,
    Own,
    Pairs,
    Stats,
    WeightedDegree,
    WordNgrams,
    feature_map,
)


def strings(n=60, length=12, letters="ACGT", seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(row) for row in rng.choice(list(letters), (n, length))]


def as_block(texts):
    return next(ArraySource(texts, np.zeros(len(texts)), block_bytes=1 << 40).blocks()).X


def learned(features, X):
    return features.fitted(Stats().add(X))


def weighted_degree(a, b, K):
    """The kernel by its definition, not normalised."""
    beta = [2 * (K - k + 1) / (K * (K + 1)) for k in range(1, K + 1)]
    return sum(
        beta[k - 1] * sum(a[p : p + k] == b[p : p + k] for p in range(len(a) - k + 1))
        for k in range(1, K + 1)
    )


def test_weighted_degree_is_its_kernel():
    texts = strings(8)
    X = as_block(texts)
    Z = learned(WeightedDegree(degree=4), X).transform(X)
    assert Z.shape == (8, sum((12 - k + 1) * 4**k for k in range(1, 5)))
    gram = (Z @ Z.T).toarray()
    for i, j in itertools.product(range(8), repeat=2):
        own = np.sqrt(
            weighted_degree(texts[i], texts[i], 4) * weighted_degree(texts[j], texts[j], 4)
        )
        assert gram[i, j] == pytest.approx(weighted_degree(texts[i], texts[j], 4) / own, rel=1e-12)


@pytest.mark.parametrize("letters", ["AB", "ACDEFGHIKLMNPQRSTVWY"])
def test_weighted_degree_on_any_alphabet(letters):
    X = as_block(strings(20, 9, letters))
    features = learned(WeightedDegree(degree=3), X)
    assert set(features.alphabet) <= set(letters)
    assert np.allclose(features.transform(X).power(2).sum(axis=1), 1.0)


def test_hashed_weighted_degree_is_near_the_exact_one():
    X = as_block(strings(40))
    exact = learned(WeightedDegree(degree=3), X).transform(X)
    hashed = learned(WeightedDegree(degree=3, bits=18), X).transform(X)
    assert hashed.shape[1] == 2**18
    np.testing.assert_allclose((hashed @ hashed.T).toarray(), (exact @ exact.T).toarray(), atol=0.1)


def test_word_ngrams_count_words_in_lower_case():
    X = as_block(["The cat, the CAT!", "cat the", "dog", ""])
    one = WordNgrams(n=1, bits=20).transform(X)
    gram = (one @ one.T).toarray()
    assert gram[0, 1] == pytest.approx(1.0)  # the same words, as often
    assert gram[0, 2] == 0.0
    assert gram[3, 3] == 0.0
    two = WordNgrams(n=2, bits=20).transform(X)
    assert (two @ two.T).toarray()[0, 1] < 0.9  # in another order


def test_char_ngrams_see_parts_of_words():
    X = as_block(["splicing", "splice", "zzz"])
    Z = CharNgrams(n=3).transform(X)
    gram = (Z @ Z.T).toarray()
    assert gram[0, 1] > 0.5 > gram[0, 2]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_are_the_polynomial_kernel(sparse, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(10, 6)) * (rng.random((10, 6)) < 0.6)).astype(dtype)
    Z = Pairs(bits=26).transform(sp.csr_matrix(X) if sparse else X)
    np.testing.assert_allclose((Z @ Z.T).toarray(), (1 + X @ X.T) ** 2 - 1, rtol=1e-5, atol=1e-5)


def test_fourier_features_are_near_the_gaussian_kernel():
    X = np.random.default_rng(0).normal(size=(20, 4))
    Z = learned(Fourier(n=20000, gamma=0.3), X).transform(X)
    exact = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(Z @ Z.T, exact, atol=0.05)


@pytest.mark.parametrize(
    "features", ["weighted_degree:3", "weighted_degree:3,bits=12", "char_ngrams:3,bits=12"]
)
@pytest.mark.parametrize("memory", ["50MB", "3MB"])
def test_training_on_the_fly_agrees_with_features_made_before(features, memory):
    texts = strings(300, 15, seed=3)
    y = np.array(["GAT" in text for text in texts]) * 2 - 1
    model = StreamSVC(C=1.0, features=features, memory=memory, tol=1e-5).fit(texts, y)
    X = as_block(texts)
    Z = model.features_.transform(X)
    exact = LinearSVC(C=1.0, tol=1e-6).fit(Z, y)
    assert model.certificate_.primal <= exact.certificate_.primal * (1 + 1.2e-5)
    assert model.certificate_.primal >= exact.certificate_.dual * (1 - 1e-9)
    scores = model.decision_function(texts)
    np.testing.assert_allclose(scores, Z @ model.coef_[0] + model.intercept_, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "features", ["weighted_degree:3", "char_ngrams:2,bits=10", "pairs:10", "fourier:50,gamma=0.2"]
)
def test_the_map_is_saved_with_the_model(features, tmp_path):
    texts = strings(80)
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(80, 5))
    X = texts if features.startswith(("weighted", "char")) else numbers
    y = rng.integers(0, 2, 80)
    model = StreamSVC(features=features).fit(X, y)
    model.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.features_ == model.features_


def test_a_map_of_ones_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where((X**2).sum(axis=1) > 2.5, 1, -1)
    model = StreamSVC(C=10.0, features=np.square).fit(X, y)
    assert model.score(X, y) > 0.9
    exact = LinearSVC(C=10.0, tol=1e-6).fit(X**2, y)
    assert model.certificate_.primal <= exact.certificate_.primal * (1 + 1.1e-3)
    with pytest.raises(ValueError, match="cannot be saved"):
        model.save("nowhere")
    with pytest.raises(ValueError, match="as many rows"):
        StreamSVC(features=lambda X: X[:1]).fit(X, y)
    assert isinstance(feature_map(np.square), Own)


def test_names():
    assert feature_map("weighted_degree:4,alphabet=AC,bits=3") == WeightedDegree(4, "AC", 3)
    assert feature_map("word_ngrams") == WordNgrams(1, 20)
    assert feature_map("fourier:7,gamma=0.5") == Fourier(7, 0.5)
    assert feature_map(None) is None


@pytest.mark.parametrize(
    "name",
    [
        "nonsense",
        "weighted_degree:0",
        "weighted_degree:x",
        "pairs:99",
        "fourier:9,gamma=-1",
        "word_ngrams:2,length=3",
        "weighted_degree:2,alphabet=AA",
        7,
    ],
)
def test_bad_names_are_refused(name):
    with pytest.raises(ValueError):
        feature_map(name)


@pytest.mark.parametrize(
    ("texts", "features", "message"),
    [
        (["ACGT", "ACG"], "weighted_degree:2", "is a string of 3 letters; expected 4"),
        (["acgt", "acga"], "weighted_degree:2,alphabet=ACGT", "no letter .* is in the alphabet"),
        (["AC", "AG"], "weighted_degree:3", "fewer than the degree"),
        (["AC", "AG"], None, "which features"),
        (["AC", "AG"], "pairs", "strings, but the features 'pairs'"),
    ],
)
def test_strings_that_cannot_be_used_are_refused(texts, features, message):
    with pytest.raises(ValueError, match=message):
        StreamSVC(features=features).fit(texts, [0, 1])


def test_a_length_never_seen_is_refused_when_predicting():
    texts = strings(20, 6)
    model = StreamSVC(features="weighted_degree:2").fit(texts, np.arange(20) % 2)
    with pytest.raises(ValueError, match="expected 6"):
        model.predict(["ACG"])


def test_too_many_dimensions_are_refused():
    texts = strings(10, 30, "ACDEFGHIKLMNPQRSTVWY")
    with pytest.raises(ValueError, match="hash them"):
        StreamSVC(features="weighted_degree:8").fit(texts, np.arange(10) % 2)


def test_formats_without_feature_maps_are_refused(tmp_path):
    from maxmargin.models.liblinear_text import write

    model = StreamSVC(features="char_ngrams:2,bits=8").fit(["ab", "cd", "abc"], [0, 1, 0])
    with pytest.raises(ValueError, match="on the fly"):
        write(model.to_model(), tmp_path / "model.liblinear")


@pytest.mark.parametrize(
    "n, degree, alphabet, length",
    [(3, 4, "ACGT", 11), (700, 5, "ACGT", 37), (90, 3, "ab", 11), (40, 4, "ACDEFGHIKLMN", 11)],
)
def test_strings_are_scored_by_positions_as_by_their_features(n, degree, alphabet, length):
    rng = np.random.default_rng(n)
    letters = rng.choice(np.frombuffer(alphabet.encode(), np.uint8), size=n * length)
    strings = maxmargin.data.Strings(letters, np.arange(0, n * length + 1, length))
    phi = maxmargin.data.features.WeightedDegree(degree, alphabet=alphabet, length=length)
    coef = rng.normal(size=(2, phi.in_core(0).d))
    expected = phi.transform(strings) @ coef.T
    for threads in (1, 3):
        found = phi.scores(strings, coef, _core.Pool(threads))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    alone = maxmargin.data.Strings(letters[:length], np.array([0, length]))
    assert phi.scores(alone, coef, _core.Pool(1)).tobytes() == found[:1].tobytes()
    strings.letters[length * (n - 1) + 4] = ord("?")
    found = phi.scores(strings, coef, _core.Pool(2))
    np.testing.assert_allclose(found, phi.transform(strings) @ coef.T, rtol=1e-12, atol=1e-12)
    v, sums = rng.normal(size=n), np.ones(coef.shape[1])
    expected = 1 + phi.transform(strings).T @ v
    one, three = sums.copy(), sums.copy()
    phi.in_core(0).add(strings.letters, strings.starts, v, one, _core.Pool(1))
    phi.in_core(0).add(strings.letters, strings.starts, v, three, _core.Pool(3))
    np.testing.assert_allclose(one, expected, rtol=1e-12, atol=1e-12)
    assert one.tobytes() == three.tobytes()
