"""Seconds until P(w) is within a tolerance of the optimum, for every peer on one problem.

Each peer climbs its own ladder of settings, from loose to tight, until it gets there: the fastest
run that got there counts, so each is shown at its best. Those runs are then repeated in
turn, one of each peer a round, so that a disturbance of the machine hits all of them alike.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.objective import Problem, Reference
from benchmarks.peers import Peer, Setting, is_ours
from benchmarks.peers.ours import DEFAULT
from benchmarks.worker import Failed, TooSlow, Worker

# Not repeated, as noise is no excuse for it: who is so many times slower than the fastest, unless
# the run is short all the same.
HOPELESS = 10.0
SHORT = 1.0  # seconds
REFERENCE_PATIENCE = 3.0  # of the time one peer has
# The first that ends in time checks the reference. LIBLINEAR itself always ends: after 300 epochs.
INDEPENDENT = ("sklearn-LinearSVC", "LIBLINEAR")


@dataclass
class Plan:
    """How to measure."""

    tol: float = 1e-3
    repeats: int = 3
    threads: int = 2
    cap: float = 60.0  # seconds of training for one peer on one problem before it is given up
    beyond: float = 0.1  # climb on to `beyond * tol`, for the curves, while little time was used


@dataclass
class Trial:
    setting: Setting
    seconds: float
    primal: float
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    """All that one peer did on one problem."""

    peer: str
    threads: int
    trials: list[Trial] = field(default_factory=list)
    ending: str = ""  # why it was given up, if it was

    def reached(self, reference: Reference, tol: float) -> list[Trial]:
        return [t for t in self.trials if reference.excess(t.primal) <= tol]

    def fastest(self, reference: Reference, tol: float) -> Trial | None:
        return min(self.reached(reference, tol), key=lambda t: t.seconds, default=None)

    def closest(self) -> Trial | None:
        return min(self.trials, key=lambda t: t.primal, default=None)

    def at(self, setting: Setting) -> list[Trial]:
        return [t for t in self.trials if t.setting == setting]


class Measurement:
    """One data set at one C, every peer."""

    def __init__(self, name: str, X: sp.csr_matrix, y: np.ndarray, C: float, plan: Plan) -> None:
        self.name, self.C, self.plan = name, C, plan
        self.shape, self.nnz = X.shape, int(X.nnz)
        self.problem = Problem(X, y, C)
        self.reference = Reference(upper=self.problem.primal(np.zeros(X.shape[1])))
        self.outcomes: dict[str, Outcome] = {}

    def run(self, workers: dict[str, Worker], certifier: Worker | None, say=print) -> None:
        self.find_reference(certifier, say)
        self.check_reference(workers, say)
        for name, worker in workers.items():
            self.climb(name, worker)
            say(f"    {name:24s} {self.summary(name)}")
        self.repeat(workers)

    def find_reference(self, certifier: Worker | None, say=print) -> None:
        """A bracket of the optimum; without it, only the best value anybody reached."""
        if certifier is None:
            return
        for setting in reversed(certifier.peer().ladder()):
            try:
                answer = certifier.run(self.C, setting, REFERENCE_PATIENCE * self.plan.cap)
            except Failed as error:
                say(f"    reference at {setting}: {error}")
                continue
            self.reference.lower = self.problem.dual(answer.notes["a"])
            self.reference.source = f"{answer.notes['method']}, tol {setting['tol']:g}"
            self.reference.observe(self.problem.primal(answer.w))
            return

    def check_reference(self, workers: dict[str, Worker], say=print) -> None:
        """What a peer that is not ours makes of the optimum at the tightest setting it has."""
        for name in INDEPENDENT:
            if name not in workers:
                continue
            setting = workers[name].peer().ladder()[-1]
            try:
                answer = workers[name].run(self.C, setting, self.plan.cap / 2)
            except Failed as error:
                say(f"    check of the reference: {error}")
                continue
            self.reference.independent = self.problem.primal(answer.w)
            self.reference.independent_source = name
            self.reference.observe(self.reference.independent)
            return

    def climb(self, name: str, worker: Worker) -> None:
        outcome = self.outcomes[name] = Outcome(name, granted(worker))
        spent = 0.0
        for setting in worker.peer().ladder():
            if self._far_enough(outcome, spent):
                return
            try:
                trial = self._try(worker, setting, outcome, self.plan.cap - spent)
            except TooSlow:
                outcome.ending = f"stopped at {self.plan.cap:g} s in all"
                return
            except Failed as error:
                outcome.ending = str(error)
                return
            spent += trial.seconds

    def repeat(self, workers: dict[str, Worker]) -> None:
        tol = self.plan.tol
        best = {k: o.fastest(self.reference, tol) for k, o in self.outcomes.items()}
        times = [trial.seconds for trial in best.values() if trial]
        rounds = [
            (name, setting)
            for name, trial in best.items()
            if trial and trial.seconds <= max(SHORT, HOPELESS * min(times))
            for setting in ([trial.setting, DEFAULT] if is_ours(name) else [trial.setting])
        ]
        for _ in range(self.plan.repeats):
            for name, setting in rounds:
                try:
                    self._try(workers[name], setting, self.outcomes[name], self.plan.cap)
                except Failed as error:
                    self.outcomes[name].ending = str(error)

    def summary(self, name: str) -> str:
        """A cell of the table."""
        outcome = self.outcomes[name]
        trial = outcome.fastest(self.reference, self.plan.tol)
        if trial is not None:
            return f"{trial.seconds:.3g}"
        closest = outcome.closest()
        if closest is None:
            return f"failed ({outcome.ending.strip().splitlines()[-1]})"
        excess = self.reference.excess(closest.primal)
        return f"not reached ({excess:.1e} at {closest.seconds:.3g} s)"

    def as_dict(self) -> dict[str, Any]:
        return {
            "set": self.name,
            "C": self.C,
            "n": self.shape[0],
            "d": self.shape[1],
            "nnz": self.nnz,
            "reference": asdict(self.reference),
            "outcomes": {name: asdict(outcome) for name, outcome in self.outcomes.items()},
        }

    @classmethod
    def from_dict(cls, kept: dict[str, Any], plan: Plan) -> Measurement:
        """What a results file holds, for drawing it again; it cannot be run."""
        self = object.__new__(cls)
        self.name, self.C, self.plan = kept["set"], kept["C"], plan
        self.shape, self.nnz = (kept["n"], kept["d"]), kept["nnz"]
        self.reference = Reference(**kept["reference"])
        self.outcomes = {
            name: Outcome(o["peer"], o["threads"], [Trial(**t) for t in o["trials"]], o["ending"])
            for name, o in kept["outcomes"].items()
        }
        return self

    def _far_enough(self, outcome: Outcome, spent: float) -> bool:
        tol = self.plan.tol
        if not outcome.reached(self.reference, tol):
            return False
        if spent > self.plan.cap / 4:
            return True
        return bool(outcome.reached(self.reference, self.plan.beyond * tol))

    def _try(self, worker: Worker, setting: Setting, outcome: Outcome, limit: float) -> Trial:
        answer = worker.run(self.C, setting, max(limit, 1.0))
        trial = Trial(setting, answer.seconds, self.problem.primal(answer.w), answer.notes)
        outcome.trials.append(trial)
        self.reference.observe(trial.primal)
        return trial


def granted(worker: Worker) -> int:
    peer: type[Peer] = worker.peer
    return worker.threads if peer.threads == "all" else 1
