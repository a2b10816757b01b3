"""When to check the gap of a stream whose rows are all in the cache."""

from __future__ import annotations

import math

ROUNDS_SHARE = 0.2  # of the work in memory between two gap checks,
PROGRESS = 0.3  # unless the violation of optimality has fallen to this fraction before


class Rounds:
    """When to check the gap if all rows are in the cache: after enough work, and when the violation
    of optimality has fallen."""

    def __init__(self) -> None:
        self.pass_entries = 0  # features of all rows
        self.total = self.since_last = 0
        self.violation_at_last = math.inf

    def check_due(self, violation: float, entries: int) -> bool:
        self.total += entries
        self.since_last += entries
        worked = self.since_last >= max(self.pass_entries, ROUNDS_SHARE * self.total)
        if worked or violation <= PROGRESS * self.violation_at_last:
            self.since_last, self.violation_at_last = 0, violation
            return True
        return False
