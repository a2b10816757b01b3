"""The kinds of machines that commands know: one line of a table and one module each.

A new kind needs a line in `KINDS`, a name in `options.Kind`, and a module with the functions of
`Machine`. Modules are imported when a command needs them, and they import estimators only inside
their functions: starting to train a linear machine must not wait for the others.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import typer

if TYPE_CHECKING:
    from maxmargin.cli.console import Messages
    from maxmargin.cli.fitting import Choices, Evaluation, Fitted, Found, Grid, Predictions
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


class Machine(Protocol):
    """What the module of a kind defines."""

    def fit(self, dataset: Dataset, choices: Choices, callback: Callback | None) -> Fitted:
        """Train on labelled rows. Ctrl-C gives the best model so far."""

    def predict(self, model: Any, X: Any, threads: int | None, scores: bool) -> Predictions:
        """What `predict` writes; decision values too if `scores` are asked for."""

    def evaluate(self, model: Any, dataset: Dataset, threads: int | None) -> Evaluation:
        """How good a model is on labelled rows."""

    def facts(self, model: Any) -> dict[str, Any]:
        """What a model of this kind has that others may not."""


class Searcher(Machine, Protocol):
    """What the module of a kind defines that `cv` can search for."""

    def search(self, dataset: Dataset, grid: Grid, choices: Choices, messages: Messages) -> Found:
        """The best point of the grid by cross-validation, and the model it gives on all rows."""


@dataclass(frozen=True)
class Entry:
    """A line of the table: where a kind lives, and what it takes."""

    module: str
    solvers: tuple[str, ...]  # none: there is no choice
    options: frozenset[str]  # parameters of `train` and `cv` that not every kind takes
    searches: bool = False  # the module is a `Searcher`
    from_disk: bool = False  # rows always stay on disk, and are read block by block

    def takes(self, name: str) -> bool:
        """Whether a parameter that not every kind takes is one of this kind."""
        return bool(self.solvers) if name == "solver" else name in self.options


CUTTING_PLANES = ("auto", "ocas", "cpa")

KINDS = {
    "linear": Entry(
        "linear",
        ("auto", "dual", "ocas", "cpa", "newton"),
        frozenset({"bias", "class_weight", "seed", "from_disk"}),
        searches=True,
    ),
    "kernel": Entry(
        "kernel",
        (),
        frozenset({"class_weight", "seed", "kernel", "gamma", "gammas", "memory", "picture"}),
        searches=True,
    ),
    "sparse-kernel": Entry(
        "sparse_kernel",
        (),
        frozenset({"class_weight", "seed", "kernel", "gamma", "n_basis", "basis"}),
    ),
    "rank": Entry("rank", CUTTING_PLANES, frozenset({"qid"})),
    "ordinal": Entry("ordinal", CUTTING_PLANES, frozenset({"class_weight", "order"})),
    "measure": Entry(
        "measure", CUTTING_PLANES, frozenset({"bias", "class_weight", "measure", "k", "beta"})
    ),
    "stream": Entry(
        "stream",
        (),
        frozenset(
            {
                "bias",
                "class_weight",
                "seed",
                "memory",
                "features",
                "text",
                "checkpoint",
                "checkpoint_every",
            }
        ),
        from_disk=True,
    ),
}


def machine(kind: str) -> Machine:
    """The functions of a kind."""
    return cast(Machine, importlib.import_module(f"{__name__}.{KINDS[kind].module}"))


def searcher(kind: str) -> Searcher:
    """The functions of a kind that `cv` can search for."""
    if not KINDS[kind].searches:
        able = [name for name, entry in KINDS.items() if entry.searches]
        raise typer.BadParameter(
            f"cv is for --kind {' or '.join(able)}, but the kind is {kind}: train and evaluate it "
            "with some values of C"
        )
    return cast(Searcher, machine(kind))


def machine_of(model: Any) -> Machine:
    """The functions for a model that was loaded."""
    from maxmargin.models.files import kind_of

    return machine(kind_of(model))


def check_options(kind: str, given: Collection[str], solver: str) -> None:
    """Refuse what a kind does not take, rather than ignore it.

    `given` are the parameters of `train` or `cv` that were typed.
    """
    chosen = KINDS[kind]
    for name in sorted(given):
        takers = [other for other, entry in KINDS.items() if entry.takes(name)]
        if takers and not chosen.takes(name):
            raise typer.BadParameter(
                f"{spelled(name)} is for --kind {' or '.join(takers)}, but the kind is {kind}: "
                "leave it out, or name that kind"
            )
    if chosen.solvers and solver not in chosen.solvers:
        raise typer.BadParameter(
            f"--solver {solver} is not for --kind {kind}: expected one of "
            f"{', '.join(chosen.solvers)}"
        )


def spelled(name: str) -> str:
    """A parameter as it is typed."""
    return "--" + name.replace("_", "-")
