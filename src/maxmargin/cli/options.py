"""Options, each declared once: how it is typed, what help says of it, what it may be.

A command is declared with the options it takes (`maxmargin.cli.commands`), and gets their values
as `Choices`. Options that not every kind of machine takes stand in the table of `kinds`. An option
reaches training by its name: `Choices.plan` fills the field of that name in the plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.parameters import positive_whole

if TYPE_CHECKING:
    from maxmargin.parameters import Options
    from maxmargin.problem import Callback

FIT, DATA, OUTPUT = "Fit", "Data", "Output"  # headings in help


@dataclass(frozen=True)
class Option:
    """One option of one or more commands.

    `type` is str, int, float, bool or a list of them; `choices` are the words that it takes.
    `default` is shown in help unless `said` stands for it. `check` refuses what was typed; `read`
    makes of it what training knows. `rare` ones are only named where help has no kind.
    """

    flags: str
    help: str
    type: Any = str
    default: Any = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    least: int | None = None
    said: str | None = None
    group: str = FIT
    check: Callable[[Any], Any] | None = None
    read: Callable[[Any], Any] | None = None
    rare: bool = False

    @property
    def name(self) -> str:
        """The parameter: --max-time is max_time."""
        return self.flags.split()[-1].split("/")[0].lstrip("-").replace("-", "_")

    @property
    def annotation(self) -> Any:
        """What typer makes an option of."""
        kind = _words(self.name, self.choices) if self.choices else self.type
        declared = typer.Option(
            *self.flags.split(),
            help=self.help,
            metavar=self.metavar,
            min=self.least,
            callback=self.check,
        )
        return Annotated[kind if self.default is not None else kind | None, declared]

    def value(self, given: Any) -> Any:
        """What was typed, or the default, as commands use it."""
        given = given.value if isinstance(given, StrEnum) else given
        return given if given is None or self.read is None else self.read(given)


@cache
def _words(name: str, choices: tuple[str, ...]) -> Any:
    return StrEnum(name, {word: word for word in choices})


class Choices(SimpleNamespace):
    """The values of a command's options, by name; `typed` are those that were given."""

    typed: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> Any:  # for type checkers: options are declared elsewhere
        raise AttributeError(f"this command has no option {spelled(name)}")

    def options(self, callback: Callback | None = None) -> Options:
        """When the fit ends and what it may use."""
        from maxmargin.parameters import Options

        known = {field.name for field in fields(Options)} & vars(self).keys()
        return Options(callback=callback, **{name: getattr(self, name) for name in known})

    def plan(self, plan: Any, callback: Callback | None = None, **more: Any) -> Any:
        """A plan of `training`, its fields filled by the options of the same names."""
        known = {field.name for field in fields(plan)} & vars(self).keys() - {"class_weight"}
        given = {name: getattr(self, name) for name in known}
        given = {name: value for name, value in given.items() if value is not None}
        return plan(**(given | more), options=self.options(callback))


# Parameters of the library whose options have names of their own.
OTHER_NAMES = {
    "fit_intercept": "bias",
    "intercept_scaling": "bias",
    "n_jobs": "threads",
    "overwrite": "force",
    "probability": "probabilities",
    "random_state": "seed",
    "sample_weight": "weight",
}


def spelled(name: str) -> str:
    """A parameter as it is typed."""
    return "--" + OTHER_NAMES.get(name, name).replace("_", "-")


def number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


DATA_HELP = "svmlight, CSV, Parquet, Arrow, also .gz .bz2 .xz .zst; '-': stdin."
MODEL_HELP = "From train, or of LIBLINEAR or LIBSVM."
FORMATS = ("svmlight", "csv", "parquet", "arrow")

C = Option("-c --C", "Cost of errors.", float, 1.0, "C")
TOL = Option("-e --tol", "Stop at this relative duality gap.", float, 1e-3, "TOL")
MAX_TIME = Option("--max-time", "Stop fitting after this.", float, metavar="SECONDS")
MAX_ITER = Option("--max-iter", "Stop after N iterations.", int, metavar="N", rare=True)
THREADS = Option(
    "--threads", "Default: all available CPUs.", int, metavar="N", rare=True,
    read=partial(positive_whole, "threads"),
)  # fmt: skip
SEED = Option("--seed", "Of random orders.", int, 0, "N", least=0)

FORMAT = Option("--format", "If not clear:", choices=(*FORMATS, "fasta"), group=DATA, rare=True)
TARGET = Option(
    "--target", "Tables: column of labels, by name or position, or none.", metavar="COLUMN",
    group=DATA,
)  # fmt: skip
QID = Option(
    "--qid", "Tables: column of query numbers, by name or position.", metavar="COLUMN",
    said="the one named qid", group=DATA,
)  # fmt: skip
WEIGHT = Option(
    "--weight", "Tables: column of row weights.", metavar="COLUMN", said="sample_weight",
    group=DATA, rare=True,
)  # fmt: skip
DROP = Option(
    "--drop", "Tables: leave out a column; repeat it.", list[str], metavar="COLUMN", group=DATA
)
ENCODE = Option(
    "--encode", "Tables: encode and scale all columns, or not:",
    str, "auto", choices=("auto", "none"), group=DATA,
)  # fmt: skip
POSITIVE = Option(
    "--positive", "Instead of labels: a file of one class, and", metavar="FILE", group=DATA,
    rare=True,
)  # fmt: skip
NEGATIVE = Option("--negative", "one of the other.", metavar="FILE", group=DATA, rare=True)
TEXT = Option("--text", "Tables: the rows are this column's texts.", metavar="COLUMN", group=DATA)
ZERO_BASED = Option(
    "--zero-based/--one-based", "svmlight: number of the first feature, if not clear.", bool,
    group=DATA, rare=True,
)  # fmt: skip
DTYPE = Option(
    "--dtype", "Keep values as float32 or float64.", str, "float32", "TYPE", group=DATA, rare=True
)
FROM_DISK = Option(
    "--from-disk", "Leave rows on disk, read them in every pass: for data larger than memory.",
    bool, False, group=DATA,
)  # fmt: skip
READING = (FORMAT, TARGET, ZERO_BASED, DTYPE, THREADS)

REPORT = Option(
    "--report", "Also write a page of HTML about the model.", metavar="FILE", group=OUTPUT,
    rare=True,
)  # fmt: skip
FORCE = Option(
    "--force", "Write over any file, whatever it holds.", bool, False, group=OUTPUT, rare=True
)
QUIET = Option("-q --quiet", "No progress and no summary.", bool, False, group=OUTPUT, rare=True)
JSON = Option("--json", "Print one JSON object to stdout.", bool, False, group=OUTPUT)
