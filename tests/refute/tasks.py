"""What a worker is asked to do: judge a problem, or make a test of it."""

from __future__ import annotations

from dataclasses import replace

from tests.refute.drawing import SECONDS, draw
from tests.refute.judge import Verdict, judge
from tests.refute.shrinking import shrink

Task = tuple[str, int, int]  # kind, seed, index
LITERAL = 60  # rows up to which a problem is printed as numbers


def judged(task: Task, seconds: float = SECONDS) -> Verdict:
    """The verdict on a fit of so many seconds, where no other limit ends it."""
    problem = draw(*task)
    if problem.options["max_time"] == SECONDS:
        problem = replace(problem, options=problem.options | {"max_time": seconds})
    return judge(problem)


def as_test(task: Task) -> str:
    """The source of a test that fails as the task did, as small as it gets."""
    problem = draw(*task)
    verdict = judge(problem)
    if not verdict.faults:
        return f"# {task} is refuted now and then; this time it was not\n"
    small, verdict = shrink(problem, verdict)
    name = "{}_{}_{}".format(*task)
    if small.n <= LITERAL:
        return small.as_test(name, verdict.faults)
    return (
        "from tests.refute.drawing import draw\nfrom tests.refute.judge import judge\n\n\n"
        f"def test_{name.replace('-', '_')}():\n"
        + "".join(f"    # {fault}\n" for fault in verdict.faults)
        + f"    assert judge(draw{task}).faults == []\n"
    )
