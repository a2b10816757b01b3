"""Kernel regressions: real values, quantiles and expectiles by functions of any shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import UNJUDGED, Found, Grid
from maxmargin.cli.kinds.kernel import check_kernel, check_place, found_in_cells
from maxmargin.cli.kinds.regression import Regression, values_of

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


class KernelRegression(Regression):
    """Numbers by a kernel regression, or by one in each cell."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.training.kernel_regression import KernelRegressionPlan

        check_kernel(choices)
        check_place(choices)
        return choices.plan(KernelRegressionPlan, callback)

    def fit(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.kernel_regression import train_kernel_regression
        from maxmargin.training.regression_cells import train_regression_cells

        y, weight = values_of(dataset), dataset.weight
        if plan.cells is None:
            return train_kernel_regression(dataset.X, y, plan, weight)
        watch = plan.options.callback
        return train_regression_cells(dataset.X, y, plan, weight, callback=watch)

    def search(
        self, dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
    ) -> Found:
        from maxmargin.training import kernel_regression
        from maxmargin.training.folds import folds_of

        y = values_of(dataset)
        Cs = grid.Cs if "Cs" in choices.typed else "auto"
        if plan.cells is not None:
            return search_cells(dataset, y, Cs, grid, plan, watch)
        folds = folds_of(grid.folds, len(y), choices.seed, groups=dataset.qid)
        trained = kernel_regression.search_kernel_regression(
            dataset.X, y, Cs, grid.gammas, folds, plan, dataset.weight
        )
        found = trained.grid
        assert found is not None
        g, at = found.best
        C, gamma, loss = found.Cs[at], found.gammas[g], found.loss[g, at].mean()
        best = f"C = {C:.4g}, gamma = {gamma:.4g}"
        told = {
            "best_C": float(C),
            "best_gamma": float(gamma),
            "best_loss": float(loss),
            "Cs": found.Cs.tolist(),
            "gammas": found.gammas.tolist(),
            "losses": found.loss.tolist(),
        }
        lines = [
            f"{gamma:10.4g} {C:10.4g} {value:14.6g}"
            for gamma, row in zip(found.gammas, found.loss.mean(axis=2))
            for C, value in zip(found.Cs, row)
        ]
        heading = (
            f"mean {plan.loss} loss over {grid.folds} folds\n     gamma          C           loss\n"
        )
        report = heading + "\n".join(lines) + f"\nbest: {best}, loss {loss:.6g}"
        if math.isnan(loss):
            report = f"{UNJUDGED}: there is nothing to compare {best} with"
        early = "the search ended early: grid points without a number were not tried in every fold"
        return Found(trained.model, best, told, report, warning=None if found.complete else early)


def search_cells(
    dataset: Dataset, y: Any, Cs: Any, grid: Grid, plan: Any, watch: Callback | None
) -> Found:
    """Every cell with the best point of its own grid."""
    from maxmargin.training.each_cell import Tuning
    from maxmargin.training.regression_cells import train_regression_cells

    tuning = Tuning(Cs, grid.gammas, grid.folds)
    trained = train_regression_cells(dataset.X, y, plan, dataset.weight, tuning, watch)
    loss = trained.validation_error
    said = f"mean {plan.loss} loss {loss:.6g} over {grid.folds} folds in each cell"
    return found_in_cells(trained, said, {"best_loss": loss})
