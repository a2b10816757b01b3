"""Class weights as people type them: ``--class-weight spam=2``, or LIBLINEAR's ``-w1 2``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import typer


def spelled_out(args: list[str]) -> list[str]:
    """``-wLABEL W`` as ``--class-weight LABEL=W``; all else unchanged."""
    plain: list[str] = []
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            return [*plain, arg, *rest]
        if arg.startswith("-w") and len(arg) > 2:
            number = next(rest, None)
            if number is None:
                raise typer.BadParameter(f"{arg} needs a weight after it, as in {arg} 2.0")
            plain += ["--class-weight", f"{arg[2:]}={number}"]
        else:
            plain.append(arg)
    return plain


def check_weights(texts: list[str] | None) -> list[str]:
    """What was typed, if it can be a class weight (an option's callback)."""
    texts = texts or []
    if texts == ["balanced"]:
        return texts
    for text in texts:
        label, equals, number = text.rpartition("=")
        if not equals or not label or not _is_weight(number):
            raise typer.BadParameter(
                f"{text!r}: expected LABEL=W with a number W >= 0, or balanced"
            )
    return texts


def class_weights(texts: list[str], classes: list[Any]) -> dict[str, Any] | str | None:
    """``["1=2.0", "-1=0.5"]`` by the classes they name; ``["balanced"]`` as it is."""
    if not texts:
        return None
    if texts == ["balanced"]:
        return "balanced"
    names, numbers = zip(*((text.rpartition("=")[0], text.rpartition("=")[2]) for text in texts))
    labels = labels_named(names, classes, "a weight was given for class")
    return dict(zip(labels, map(float, numbers)))


def labels_named(names: Sequence[str], classes: list[Any], what: str) -> list[Any]:
    """The labels of the data that were typed; `what` says what for, should there be none."""
    by_name = {str(label): label for label in classes}
    labels = []
    for name in names:
        label = by_name.get(name, by_name.get(_plain(name)))
        if label is None:
            raise ValueError(
                f"{what} {name!r}, but the data has only "
                f"{', '.join(sorted(by_name)[:10])}: correct the label"
            )
        labels.append(label)
    return labels


def _is_weight(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and float(text) >= 0
    except ValueError:
        return False


def _plain(name: str) -> str:
    """``+1`` and ``1.0`` as the ``1`` they mean."""
    try:
        number = float(name)
    except ValueError:
        return name
    return str(int(number)) if math.isfinite(number) and number == int(number) else str(number)
