"""``maxmargin export``: a model for other systems."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated

import typer


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="From train, or of LIBLINEAR.")],
    out: Annotated[
        str,
        typer.Argument(metavar="OUT", help="Ending in .liblinear, .libsvm, .onnx or .safetensors."),
    ],
) -> None:
    """Write a model as LIBLINEAR or LIBSVM text, ONNX, or maxmargin's own file."""
    from maxmargin.models import liblinear_text, libsvm_text, load_model, onnx_export, save

    writers: dict[str, Callable[..., None]] = {
        ".liblinear": liblinear_text.write,
        ".libsvm": libsvm_text.write,
        ".onnx": onnx_export.to_onnx,
        ".safetensors": save,
    }
    suffix = os.path.splitext(out)[1].lower()
    if suffix not in writers:
        raise typer.BadParameter(f"{out}: end its name in {', '.join(writers)} to choose a format")
    writers[suffix](load_model(model), out)
