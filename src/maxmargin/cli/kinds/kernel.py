"""Kernel classifiers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.fitting import UNJUDGED, Found, Grid, classes_of
from maxmargin.cli.kinds.linear import Linear, probability_of

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


class KernelMachine(Linear):
    """Classes apart by a kernel machine, or by one in each cell."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.training.kernel import KernelPlan

        check_kernel(choices)
        check_place(choices)
        return choices.plan(KernelPlan, callback, probability=probability_of(choices))

    def fit(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.cells import train_cells
        from maxmargin.training.kernel import train

        y, weight = classes_of(dataset), dataset.weight
        if plan.cells is None:
            return train(dataset.X, y, plan, weight)
        return train_cells(dataset.X, y, plan, weight, callback=plan.options.callback)

    def search(
        self, dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
    ) -> Found:
        """The errors over the grid as numbers, as characters and as a picture."""
        import numpy as np

        from maxmargin.report.grid import error_chart, error_map
        from maxmargin.training import kernel_search
        from maxmargin.training.folds import folds_of

        y = classes_of(dataset)
        Cs = grid.Cs if "Cs" in choices.typed else "auto"
        if plan.cells is not None:
            return search_cells(dataset, Cs, grid, plan, watch)
        codes = np.unique(y, return_inverse=True)[1]
        folds = folds_of(grid.folds, len(y), choices.seed, codes, dataset.qid)
        trained = kernel_search.search(
            dataset.X, y, Cs, grid.gammas, folds, plan, dataset.weight, watch
        )
        result = trained.grid
        assert result is not None
        error = result.error.mean(axis=2)
        best = f"C = {result.C:.4g}, gamma = {result.gamma:.4g}"
        told = {
            "best_C": result.C,
            "best_gamma": result.gamma,
            "best_error": float(error[result.best]),
            "Cs": result.Cs.tolist(),
            "gammas": result.gammas.tolist(),
            "errors": result.error.tolist(),
            "losses": result.loss.tolist(),
            "seconds": result.seconds,
        }
        judged = not np.isnan(error).all()
        report = (
            f"validation error in per cent over {grid.folds} folds, {result.seconds:.2f} s\n"
            f"{error_chart(result.Cs, result.gammas, error, result.best)}"
            f"best: {best}, error {error[result.best]:.2%}"
            if judged
            else f"{UNJUDGED}: there is nothing to compare {best} with"
        )
        early = "the search ended early: grid points without a number were not tried in every fold"
        return Found(
            trained.model,
            best,
            told,
            report,
            warning=None if result.complete else early,
            draw=(lambda path: error_map(result.Cs, result.gammas, error, path, result.best))
            if judged
            else None,
        )


def check_kernel(choices: Choices) -> None:
    """Refuse parameters that the kernel does not have."""
    lacking = {"linear": ("gamma", "gammas", "degree", "coef0")}
    for name in lacking.get(choices.kernel, ("degree", "coef0")):
        if name in choices.typed and choices.kernel != "poly":
            raise typer.BadParameter(
                f"--{name}: the {choices.kernel} kernel has no {name.removesuffix('s')}: leave it "
                "out, or take another --kernel"
            )


def check_place(choices: Choices) -> None:
    """A kernel matrix needs its rows; only cells are read from disk when their turn comes."""
    if choices.from_disk and choices.cells is None:
        raise typer.BadParameter(
            "--from-disk: one kernel machine needs all rows in memory: give --cells 2000, say"
        )


def search_cells(dataset: Dataset, Cs: Any, grid: Grid, plan: Any, watch: Callback | None) -> Found:
    """Every cell with the best point of its own grid."""
    from maxmargin.training.cells import train_cells
    from maxmargin.training.each_cell import Tuning

    tuning = Tuning(Cs, grid.gammas, grid.folds)
    y = classes_of(dataset)
    trained = train_cells(dataset.X, y, plan, dataset.weight, tuning, watch)
    constant, error = trained.model.constant_cells, trained.validation_error
    said = f"validation error {error or 0:.2%} over {grid.folds} folds in each cell"
    if error is None:
        said = "no cell has two classes"
    facts = {"constant_cells": constant, "best_error": error}
    return found_in_cells(trained, said, facts, f", {len(constant)} of one class")


def found_in_cells(trained: Any, said: str, facts: dict[str, Any], more: str = "") -> Found:
    """A search in which each cell chose for itself, in words and numbers."""
    cells, error = trained.model.cells, trained.validation_error
    if error is not None and math.isnan(error):
        said = f"in a cell {UNJUDGED}"
    facts = {
        "cells": len(cells),
        **facts,
        "Cs": [cell.C for cell in cells],
        "gammas": [cell.gamma for cell in cells],
        "seconds": trained.seconds,
    }
    report = f"{len(cells)} cells{more}, {trained.seconds:.2f} s\n{said}"
    return Found(trained.model, "a C and gamma for each cell", facts, report)
