"""What commands ask of a kind of machine, and what all kinds share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.searching import search_along_C

if TYPE_CHECKING:
    from maxmargin.cli.fitting import Evaluation, Found, Grid, Predictions
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Callback
    from maxmargin.training.tasks import Task


class Machine:
    """A kind of machine. Training is imported inside its functions, by the command that needs it.

    A kind says what is learned by which plan, and how its models are used. One fit and the search
    for C follow from that; kinds whose models come by another way have a `fit` or a `search` of
    their own.
    """

    def plan(self, choices: Choices, callback: Callback | None) -> Any:
        """The options as training knows them, checked before anything is read."""
        raise NotImplementedError

    def task(self, dataset: Dataset, plan: Any, choices: Choices) -> Task:
        """What is to be learned of labelled rows."""
        raise NotImplementedError

    def about(self, dataset: Dataset, model: Any) -> str:
        """What there was to tell apart ("2 classes"), once a model is trained."""
        raise NotImplementedError

    def predict(self, model: Any, X: Any, threads: int | None, scores: bool) -> Predictions:
        """What `predict` writes; decision values too if `scores` are asked for."""
        raise NotImplementedError

    def evaluate(self, model: Any, dataset: Dataset, threads: int | None) -> Evaluation:
        """How good a model is on labelled rows."""
        raise NotImplementedError

    def fit(self, dataset: Dataset, plan: Any, choices: Choices) -> Any:
        """What training gives on labelled rows. Ctrl-C gives the best model so far."""
        return self.task(dataset, plan, choices).train(dataset.X)

    def axis(self, grid: Grid, choices: Choices) -> tuple[str, Any] | None:
        """A parameter that is searched beside C, and its values."""
        return None

    def search(
        self, dataset: Dataset, grid: Grid, plan: Any, choices: Choices, watch: Callback | None
    ) -> Found:
        """The best point of the grid by cross-validation, and the model it gives on all rows."""
        task = self.task(dataset, plan, choices)
        return search_along_C(dataset, task, grid, choices, watch, self.axis(grid, choices))
