import dataclasses
import json
import os

import numpy as np
import pytest
from safetensors.numpy import load as tensors_of
from safetensors.numpy import save as to_bytes

from maxmargin.models import LinearModel, Model, load_model, save
from maxmargin.models import base as model_base
from maxmargin.models.contents import Floats, stored
from maxmargin.models.files import FORMAT, is_model, register_estimator
from maxmargin.models.files import load as load_estimator


def header_of(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["maxmargin"])


def rewrite(path, change_header=lambda h: None, change_tensors=lambda t: None):
    """The file again with something else inside, well-formed as safetensors."""
    header, tensors = header_of(path), tensors_of(path.read_bytes())
    change_header(header)
    change_tensors(tensors)
    path.write_bytes(to_bytes(tensors, metadata={"maxmargin": json.dumps(header)}))


@pytest.fixture
def saved(binary, tmp_path):
    path = tmp_path / "m.safetensors"
    save(binary, path)
    return path


@pytest.mark.parametrize("name", ["binary", "multiclass"])
def test_a_model_comes_back_as_it_was(name, request, tmp_path):
    model = request.getfixturevalue(name)
    save(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    for field in dataclasses.fields(LinearModel):
        ours, theirs = getattr(model, field.name), getattr(again, field.name)
        if isinstance(ours, np.ndarray):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
        else:
            assert ours == theirs


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["ham", "spåm"]),
        np.array(["ham", "spam"], dtype=object),
        np.array([False, True]),
        np.array([0.1, 0.30000000000000004]),
        np.array([-(2**63), 2**63 - 1]),
        np.array([0, 255], dtype=np.uint8),
    ],
)
def test_classes_keep_their_values_and_type(binary, classes, tmp_path):
    save(dataclasses.replace(binary, classes=classes), tmp_path / "m")
    again = load_model(tmp_path / "m").classes
    np.testing.assert_array_equal(again, classes)
    assert again.dtype == classes.dtype


def test_classes_of_other_types_are_refused(binary, tmp_path):
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    with pytest.raises(ValueError, match="numbers or strings"):
        save(dataclasses.replace(binary, classes=dates), tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_equal_models_give_equal_files(binary, saved, tmp_path):
    save(binary, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_the_header_names_format_version_kind_and_certificate(saved):
    header = header_of(saved)
    assert header["format"] == FORMAT
    assert header["version"] == 1
    assert header["kind"] == "linear"
    assert header["content"]["certificates"][0]["status"] == "optimal"


def test_a_file_cut_anywhere_is_refused_by_name(saved):
    whole = saved.read_bytes()
    for length in [0, 1, 7, 8, 9, 20, len(whole) // 2, len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"m\.safetensors"):
            load_model(saved)


def test_any_flipped_byte_of_the_header_loads_or_is_a_value_error(saved):
    whole = saved.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        saved.write_bytes(damaged)
        try:
            load_model(saved)
        except ValueError as error:
            assert "m.safetensors" in str(error)


def test_an_absurd_header_length_allocates_nothing(saved):
    saved.write_bytes((2**60).to_bytes(8, "little") + saved.read_bytes()[8:])
    with pytest.raises(ValueError, match="header claims"):
        load_model(saved)


def test_absurd_shapes_are_refused(saved):
    data = saved.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["coef"]["shape"] = [2**40, 2**40]
    text = json.dumps(header).encode()
    saved.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    with pytest.raises(ValueError, match=r"m\.safetensors"):
        load_model(saved)


def set_content(**values):
    return lambda header: header["content"].update(values)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda h: h.update(version=99), "upgrade maxmargin"),
        (lambda h: h.update(version="1"), "format and version"),
        (lambda h: h.update(format="other"), "format and version"),
        (lambda h: h.update(kind="magic"), "unknown kind 'magic'"),
        (lambda h: h.update(content=[1]), "no content"),
        (set_content(classes=None), "classes"),
        (set_content(classes={"dtype": "int64", "values": [1, 1]}), "increasing"),
        (set_content(classes={"dtype": "int64", "values": [1, "x"]}), "type int64"),
        (set_content(classes={"dtype": "int8", "values": [1, 1000]}), "int8"),
        (set_content(classes={"dtype": "object_", "values": [1, 2]}), "unknown type"),
        (set_content(classes={"dtype": "int64", "values": [1, 2, 3]}), "3 classes do not fit"),
        (set_content(certificates=[{}]), "certificate"),
        (set_content(certificates=[1, 2]), "certificate"),
        (set_content(certificates=[{"primal": float("nan")}]), "NaN"),
        (set_content(solver=3), "solver"),
        (set_content(parameters=[]), "parameters"),
        (set_content(feature_names="abc"), "feature names"),
        (set_content(feature_names=["a"]), "1 feature names do not fit 5"),
        (set_content(index_base=7), "index base"),
        (set_content(parameters={"C": [1, 2]}), "'C'"),
        (set_content(parameters={"w": {"pairs": [[[], 1]]}}), "'w'"),
    ],
)
def test_contradictory_metadata_is_refused(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(ValueError, match=message):
        load_model(saved)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda t: t.pop("coef"), "tensors"),
        (lambda t: t.update(extra=np.zeros(3)), "tensors"),
        (lambda t: t.update(coef=np.zeros((1, 5), dtype=np.float32)), "float32"),
        (lambda t: t.update(coef=np.zeros(5)), "2-d"),
        (lambda t: t.update(coef=np.full((1, 5), np.nan)), "NaN"),
        (lambda t: t.update(intercept=np.array([np.inf])), "infinity"),
        (lambda t: t.update(intercept=np.zeros(4)), "intercept"),
    ],
)
def test_contradictory_tensors_are_refused(saved, change, message):
    rewrite(saved, change_tensors=change)
    with pytest.raises(ValueError, match=message):
        load_model(saved)


def test_deeply_nested_metadata_is_refused(saved):
    nested = "[" * 100_000 + "]" * 100_000
    saved.write_bytes(to_bytes({"coef": np.zeros((1, 1))}, metadata={"maxmargin": nested}))
    with pytest.raises(ValueError, match=r"m\.safetensors"):
        load_model(saved)


def test_other_safetensors_files_are_told_apart(saved):
    saved.write_bytes(to_bytes({"coef": np.zeros((1, 1))}))
    with pytest.raises(ValueError, match="not a maxmargin model"):
        load_model(saved)


def test_models_are_told_from_data(saved, tmp_path):
    (tmp_path / "data").write_text("1 1:0.5\n-1 2:0.5\n")
    assert is_model(saved)
    assert not is_model(tmp_path / "data")


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none")


def test_infinite_weights_are_not_saved(binary, tmp_path):
    with pytest.raises(ValueError, match="NaN or infinity"):
        save(dataclasses.replace(binary, coef=np.full((1, 5), np.inf)), tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_an_unwritable_target_names_it_and_leaves_nothing(binary, tmp_path):
    with pytest.raises(ValueError, match="nowhere"):
        save(binary, tmp_path / "nowhere" / "m")
    with pytest.raises(ValueError, match="folder"):
        save(binary, tmp_path)
    assert os.listdir(tmp_path) == []


def test_what_is_no_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="int"):
        save(3, tmp_path / "m")


def test_a_new_kind_and_its_estimator_register_themselves(tmp_path, monkeypatch):
    from maxmargin.models import files

    monkeypatch.setattr(model_base, "_kinds", dict(model_base._kinds))
    monkeypatch.setattr(files, "_estimators", {})

    @dataclasses.dataclass(frozen=True)
    class Mean(Model):
        kind = "mean"
        value: np.ndarray = stored(Floats(1))
        n_features = property(lambda self: len(self.value))

        def decision_function(self, X, threads=None):
            return X @ self.value

        predict = decision_function

    save(Mean(np.arange(3.0)), tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").value, np.arange(3.0))
    with pytest.raises(ValueError, match="no estimator"):
        load_estimator(tmp_path / "m")
    register_estimator("mean", lambda model: ("estimator", model.value.sum()))
    assert load_estimator(tmp_path / "m") == ("estimator", 3.0)
