"""Maps of validation errors."""

import numpy as np
import pytest

from maxmargin.report import error_chart, error_map

CS, GAMMAS = np.array([0.1, 1.0, 10.0]), np.array([0.5, 5.0])
ERROR = np.array([[0.3, 0.2, 0.25], [0.4, 0.1, np.nan]])


def test_the_chart_marks_the_best_point_and_what_is_missing():
    lines = error_chart(CS, GAMMAS, ERROR).splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("5") and ">10.0" in lines[1] and "-" in lines[1]
    assert ">" not in lines[2]


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_map_is_drawn(tmp_path, suffix):
    error_map(CS, GAMMAS, ERROR, tmp_path / f"map.{suffix}")
    assert (tmp_path / f"map.{suffix}").stat().st_size > 1000


def test_equal_errors_are_drawn_too(tmp_path):
    error_map(CS, GAMMAS, np.full((2, 3), 0.5), tmp_path / "map.png")
    assert error_chart(CS, GAMMAS, np.full((2, 3), 0.5))


def test_bad_input_is_refused(tmp_path):
    with pytest.raises(ValueError, match="do not fit"):
        error_chart(CS, GAMMAS, ERROR.T)
    with pytest.raises(ValueError, match="nothing to draw"):
        error_chart(CS, GAMMAS, ERROR * np.nan)
    with pytest.raises(ValueError, match="end its name"):
        error_map(CS, GAMMAS, ERROR, tmp_path / "map.txt")
