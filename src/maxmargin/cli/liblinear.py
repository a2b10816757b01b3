"""LIBLINEAR's and LIBSVM's flags, understood where the problem is solved here.

``train -s 3 -c 2 spam.svm`` works as it stands. A flag for another problem is answered in one line
with the nearest command. With -t, -g, -d, -r or -h the flags are LIBSVM's, whose -s means another
thing than LIBLINEAR's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from maxmargin.cli.console import fail, tell
from maxmargin.cli.kinds import KINDS
from maxmargin.cli.typed_weights import spelled_out

FLAG = re.compile(r"-([stdgrpnmvbMh])(-?[\d.].*)?")
LIBSVM_ONLY = frozenset("tgdrh")
KERNELS = {"0": "linear", "1": "poly", "2": "rbf"}


@dataclass(frozen=True)
class Problem:
    """What a number after -s means, and how it is asked for here; no arguments: not at all."""

    about: str
    arguments: tuple[str, ...] | None = None
    instead: str = ""


AGAINST_REST = "one class against the rest, maxmargin train FILE"
L2 = "L2 regularisation, maxmargin train FILE"
LOGISTIC = Problem("logistic regression", ("--loss", "logistic"))
SQUARED = Problem("squared hinge loss", ("--loss", "squared_hinge"))
SVR = ("--kind", "regression", "--loss")
SQUARED_SVR = Problem("squared loss regression", (*SVR, "squared_epsilon_insensitive"))
ONE_CLASS = Problem("one-class SVM", instead="scikit-learn's OneClassSVM")
LIBLINEAR = {
    "0": LOGISTIC,
    "7": LOGISTIC,
    "1": SQUARED,
    "2": SQUARED,
    "3": Problem("hinge loss", ()),
    "4": Problem("Crammer and Singer's machine", instead=AGAINST_REST),
    "5": Problem("L1 regularisation", instead=L2),
    "6": Problem("L1-regularised logistic regression", instead=L2),
    "11": SQUARED_SVR,
    "12": SQUARED_SVR,
    "13": Problem("epsilon-insensitive regression", (*SVR, "epsilon_insensitive")),
    "21": ONE_CLASS,
}
LIBSVM = {
    "0": Problem("C-SVC", ()),
    "1": Problem("nu-SVC", instead="C in place of nu, maxmargin train --kind kernel -c 1 FILE"),
    "2": ONE_CLASS,
    "3": Problem("epsilon-SVR", ("--kind", "regression")),
    "4": Problem("nu-SVR", instead="C and epsilon, maxmargin train --kind regression FILE"),
}


def understood(args: list[str], known: Callable[[str], Collection[str]]) -> list[str]:
    """Arguments of the program with those of LIBLINEAR and LIBSVM in the words of this one.

    `known` gives the names of the options of a command.
    """
    args = spelled_out(args)
    if not args or args[0] not in ("train", "cv", "predict"):
        return args
    command, rest, flags = args[0], *_split(args[0], args[1:])
    if not flags:
        return args
    if command == "predict":
        spoken = [command, *_probabilities(flags), *rest]
    else:
        spoken = _training(command, flags, rest)
    for option in ("probabilities", "epsilon"):
        if f"--{option}" in spoken and option not in known(spoken[0]):
            flag = "b" if option == "probabilities" else "p"
            fail(f"-{flag} {flags[flag]} ({option}) is not for {spoken[0]} here: leave it out")
    if not {"-q", "--quiet"} & set(rest):
        tell(f"maxmargin: understood as: maxmargin {' '.join(spoken)}\n")
    return spoken


def _split(command: str, args: list[str]) -> tuple[list[str], dict[str, str]]:
    """What is said as here, and flags that are not, with their values."""
    own = "v" if command == "cv" else ""
    rest: list[str] = []
    flags: dict[str, str] = {}
    words = iter(args)
    for word in words:
        found = FLAG.fullmatch(word)
        if word == "--":
            return [*rest, word, *words], flags
        if command != "predict" and word in ("-C", "-R"):
            flags[word[1]] = ""
        elif found and found.group(1) not in own and (command != "predict" or word[1] == "b"):
            value = found.group(2) if found.group(2) is not None else next(words, None)
            if value is None or (word == "-h" and value not in ("0", "1")):
                rest += [word] if value is None else [word, value]
            else:
                flags[found.group(1)] = value
        else:
            rest.append(word)
    return rest, flags


def _training(command: str, flags: dict[str, str], rest: list[str]) -> list[str]:
    libsvm = bool(LIBSVM_ONLY & flags.keys())
    system, problems = ("LIBSVM", LIBSVM) if libsvm else ("LIBLINEAR", LIBLINEAR)
    default = "0" if libsvm else "3"
    spoken = _problem(system, problems, flags.get("s", default))
    if libsvm and "regression" not in spoken:
        spoken += _kernel(flags)
    elif libsvm and flags.get("t", "2") != "0":
        fail("regression with a kernel (-s 3 -t 2): in Python as maxmargin.KernelSVR; here only "
             "the linear kernel: maxmargin train --kind regression FILE")  # fmt: skip
    spoken += _more(system, flags)
    spoken += _probabilities(flags)
    if "C" in flags or "v" in flags:
        return ["cv", *_searching(flags, rest), *spoken]
    return [command, *spoken, *rest]


def _problem(system: str, problems: dict[str, Problem], number: str) -> list[str]:
    problem = problems.get(number)
    if problem is None:
        fail(f"-s {number}: {system} has {', '.join(sorted(problems, key=int))}")
    arguments = list(problem.arguments or ())
    if problem.arguments is None:
        fail(f"-s {number} of {system}, {problem.about}, is not solved here; use {problem.instead}")
    kind = arguments[arguments.index("--kind") + 1] if "--kind" in arguments else "linear"
    lacking = kind not in KINDS or ("--loss" in arguments and not KINDS[kind].takes("loss"))
    if lacking:
        fail(f"-s {number} of {system}, {problem.about}, is not solved here; "
             "use the hinge loss: maxmargin train FILE")  # fmt: skip
    return arguments


def _kernel(flags: dict[str, str]) -> list[str]:
    number = flags.get("t", "2")
    if number not in KERNELS:
        fail(f"-t {number}: kernels here are -t 0 (linear), 1 (poly), 2 (rbf), and laplacian; a "
             "matrix of your own: KernelSVC(kernel='precomputed') in Python")  # fmt: skip
    if number == "0":
        return []  # the same problem but for the regularised intercept, solved faster
    spoken = ["--kind", "kernel", "--kernel", KERNELS[number]]
    # LIBSVM's default is 1 / features
    spoken += ["--gamma", flags.get("g", "auto")]
    for flag, option in (("d", "--degree"), ("r", "--coef0")):
        if flag in flags and number == "1":
            spoken += [option, flags[flag]]
    return spoken


def _more(system: str, flags: dict[str, str]) -> list[str]:
    """Flags with a direct counterpart, and those that have none."""
    spoken = []
    if "m" in flags:  # megabytes of cache, or threads of the multicore LIBLINEAR
        spoken += (
            ["--memory", f"{flags['m']}MB"] if system == "LIBSVM" else ["--threads", flags["m"]]
        )
    if "p" in flags:
        spoken += ["--epsilon", flags["p"]]
    if "n" in flags:
        fail("-n (nu) is for machines that are not here: use -c, the cost of errors")
    if "R" in flags:
        spoken += ["--intercept", "free"]
    if flags.get("M", "0") == "1":
        fail("-M 1 (one class against one) is for kernel machines here; linear ones are one "
             "against the rest: leave it out")  # fmt: skip
    return spoken


def _probabilities(flags: dict[str, str]) -> list[str]:
    return ["--probabilities"] if flags.get("b", "0") == "1" else []


def _searching(flags: dict[str, str], rest: list[str]) -> list[str]:
    """-v N is cross-validation at the C that was typed, -C a search for the best one."""
    left, cost, words = [], "1", iter(rest)
    for word in words:
        if word in ("-c", "--C"):
            cost = next(words, cost)
        else:
            left.append(word)
    spoken = ["-v", flags["v"]] if "v" in flags else []
    return spoken + ([] if "C" in flags else ["--Cs", f"{cost},"]) + left
