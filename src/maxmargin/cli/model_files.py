"""Model files as commands are given them."""

from __future__ import annotations

import os
from typing import Any

import typer


def loaded(model: str, data: str | None, order: str) -> Any:
    """The model of a file; where the data is the model, the order of arguments is told."""
    from maxmargin.models import load_model
    from maxmargin.models.files import is_model

    try:
        return load_model(model)
    except (OSError, ValueError) as error:
        if data is not None and os.path.isfile(data) and is_model(data):
            raise typer.BadParameter(
                f"{data} is a model, and {model} is none; expected maxmargin {order}"
            ) from error
        raise
