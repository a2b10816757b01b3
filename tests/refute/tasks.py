"""What a worker is asked to do: judge a problem, or make a test of it."""

from __future__ import annotations

from tests.refute.drawing import draw
from tests.refute.judge import Verdict, judge
from tests.refute.shrinking import shrink

Task = tuple[str, int, int]  # kind, seed, index
LITERAL = 60  # rows up to which a problem is printed as numbers


def judged(task: Task) -> Verdict:
    return judge(draw(*task))


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
