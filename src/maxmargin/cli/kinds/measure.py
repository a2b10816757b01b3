"""Linear classifiers trained for the measure they are judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.fitting import Evaluation, Grid, Table, classes_of
from maxmargin.cli.kinds.linear import Linear

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback


class ForMeasure(Linear):
    """Classes apart by hyperplanes, for a measure of all labels at once."""

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        from maxmargin.training.fit import LinearPlan

        check_measure(choices)
        measure_of(choices)
        return choices.plan(LinearPlan, callback, loss="measures")

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        from maxmargin.training.tasks import OfMeasure

        y, measure = classes_of(dataset), measure_of(choices)
        return OfMeasure(y, plan, dataset.weight, dataset.qid, measure=measure)

    def about(self, dataset: Dataset, model: Any) -> str:
        return f"{super().about(dataset, model)}, for {model.parameters['measure']}"

    def axis(self, grid: Grid, choices: Choices) -> tuple[str, Any] | None:
        return None if choices.ks is None else ("k", choices.ks)

    def evaluate(self, model: Any, dataset: Dataset, threads: int | None) -> Evaluation:
        from maxmargin.cli.classification import held_out, judged_by_score
        from maxmargin.metrics.named import judged

        told: Any = model.parameters
        name, held = told.get("measure"), held_out(model, dataset, threads)
        value = judged(str(name), held, told.get("beta") or 1.0, told.get("k"))
        whole = judged_by_score(model, dataset, threads)
        table = Table("trained for", ["measure", "value"], [[str(name), f"{value:.6f}"]])
        return Evaluation({"measure": name, "value": value} | whole.facts, [table, *whole.tables])


def check_measure(choices: Choices) -> None:
    """Refuse options of one measure beside another."""
    from maxmargin.training.scores import AT_K, OF_ORDER, Measure

    measure = choices.measure or Measure.name
    if choices.k is not None and measure not in AT_K:
        raise typer.BadParameter(f"--k is for --measure {' or '.join(AT_K)}; this is {measure}")
    ks = getattr(choices, "ks", None)
    if ks is not None and measure not in AT_K:
        raise typer.BadParameter(f"--ks is for --measure {' or '.join(AT_K)}; this is {measure}")
    if choices.k is None and ks is None and measure in AT_K:
        raise typer.BadParameter(
            f"--measure {measure} needs --k: a number of rows, or a share of them below 1"
        )
    if choices.beta is not None and measure != "fbeta":
        raise typer.BadParameter(f"--beta is for --measure fbeta; this is {measure}")
    if choices.bias is not None and measure in OF_ORDER:
        raise typer.BadParameter(
            f"--bias: --measure {measure} looks at the order of the scores alone, which a "
            "constant does not change: leave it out"
        )


def measure_of(choices: Choices) -> Any:
    """The measure as training knows it. Whole numbers k count rows; others are a share of them."""
    from maxmargin.training.scores import Measure

    k = choices.k
    beta = 1.0 if choices.beta is None else choices.beta
    k = int(k) if k is not None and k == int(k) else k
    return Measure(choices.measure or Measure.name, beta, k, choices.pos_label)
