"""Handwritten digits 0-4 against 5-9, pixels scaled to [0, 1]. LeCun et al."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets.base import DataSet, read_idx

IMAGES, LABELS = "mnist.train-images-idx3-ubyte", "mnist.train-labels-idx1-ubyte"


def build(folder: Path | None) -> tuple[sp.csr_matrix, np.ndarray]:
    images = read_idx(folder, IMAGES)
    pixels = sp.csr_matrix(images.reshape(len(images), -1)).astype(np.float64)
    pixels.data /= 255.0
    return pixels, np.where(read_idx(folder, LABELS) >= 5, 1.0, -1.0)


DATA = DataSet("mnist", (IMAGES, LABELS), build, "60000 x 784, a fifth of the pixels not 0")
