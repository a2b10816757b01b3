"""Models as C source: compiled where there is a compiler, and compared."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import maxmargin
from maxmargin.models import c_source

X = np.random.default_rng(0).normal(size=(60, 5))
PLACES = np.digitize(X @ [1.0, -1.0, 0.5, 0.0, 0.2], [-0.6, 0.6])
MODELS = {
    "two": lambda: maxmargin.LinearSVC().fit(X, PLACES > 1),
    "three": lambda: maxmargin.LinearSVC().fit(X, np.array(["a", 'b"\\', "ü"])[PLACES]),
    "measure": lambda: maxmargin.MeasureSVC().fit(X, PLACES > 1),
    "ordinal": lambda: maxmargin.OrdinalSVC().fit(X, PLACES),
    "rank": lambda: maxmargin.RankSVM().fit(X, PLACES),
    "stream": lambda: maxmargin.StreamSVC().fit(X, PLACES > 1),
}


@pytest.fixture(scope="module")
def compiler():
    return shutil.which("cc") or pytest.skip("there is no C compiler")


@pytest.mark.parametrize("name", MODELS)
def test_compiled_it_predicts_the_same(name, compiler, tmp_path):
    model = MODELS[name]().to_model()
    c_source.write(model, tmp_path / "m.c")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run(
        [compiler, *flags, str(tmp_path / "m.c"), "-o", str(tmp_path / "m.so")], check=True
    )
    library = ctypes.CDLL(str(tmp_path / "m.so"))
    numbers = ctypes.POINTER(ctypes.c_double)
    scores = np.zeros((len(X), len(model.coef)))
    places = []
    for row, out in zip(X, scores):
        library.maxmargin_scores(row.ctypes.data_as(numbers), out.ctypes.data_as(numbers))
        if name != "rank":
            places.append(library.maxmargin_predict(row.ctypes.data_as(numbers)))
    if name == "rank":
        np.testing.assert_allclose(scores[:, 0], model.predict(X), rtol=1e-12)
        return
    labels = (ctypes.c_char_p * len(model.classes)).in_dll(library, "maxmargin_labels")
    said = [labels[place].decode() for place in places]
    assert said == [str(label) for label in model.predict(X).tolist()]


def test_what_is_not_linear_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match="kernel models cannot be written as C source"):
        c_source.write(maxmargin.KernelSVC().fit(X, PLACES), tmp_path / "m.c")
    assert not (tmp_path / "m.c").exists()
