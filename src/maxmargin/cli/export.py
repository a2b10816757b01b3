"""``maxmargin export``: a model for other systems."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from maxmargin.cli import options
from maxmargin.cli.options import Choices
from maxmargin.cli.outputs import Outputs, exported

OPTIONS = (options.FORCE,)
EXAMPLES = (
    ("export spam.model spam.onnx", "for ONNX Runtime"),
    ("export spam.model spam.c", "C source without dependencies"),
)


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=options.MODEL_HELP)],
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="Ending in .liblinear, .libsvm, .onnx, .c or .safetensors."
        ),
    ],
    *,
    choices: Choices,
) -> None:
    """Write a model as LIBLINEAR or LIBSVM text, ONNX, C source, or maxmargin's own file."""
    from maxmargin.models import (
        c_source,
        liblinear_text,
        libsvm_text,
        load_model,
        onnx_export,
        save,
    )

    writers: dict[str, Callable[..., None]] = {
        ".liblinear": liblinear_text.write,
        ".libsvm": libsvm_text.write,
        ".onnx": onnx_export.to_onnx,
        ".c": c_source.write,
        ".safetensors": partial(save, overwrite=True),  # checked before
    }
    suffix = os.path.splitext(out)[1].lower()
    if suffix not in writers:
        raise typer.BadParameter(f"{out}: end its name in {', '.join(writers)} to choose a format")
    Outputs([model], choices.force).check(out, exported(suffix))
    writers[suffix](load_model(model), out)
