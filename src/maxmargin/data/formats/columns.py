"""Which column of a table is the label, which are features."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from maxmargin.data.errors import DataError

Column = str | int

TARGET_NAMES = ("label", "target", "y", "class", "response")
QID_NAME = "qid"
WEIGHT_NAME = "sample_weight"

# What pandas calls an index it stores beside the data: it numbers the rows and is no feature.
_INDEX_PREFIX = "__index_level_"


@dataclass(frozen=True)
class Wanted:
    """Which columns the caller asked for, by name or position; None leaves it to the names."""

    target: Column | Literal[False] | None = None
    qid: Column | None = None
    weight: Column | None = None
    drop: tuple[str, ...] = ()  # columns that are not looked at

    def names(self) -> set[str]:
        """The names asked for; digits may stand for a position."""
        columns = (self.target, self.qid, self.weight, *self.drop)
        return {c for c in columns if isinstance(c, str) and not _is_position(c)}


@dataclass(frozen=True)
class Roles:
    """What each column of a table is for."""

    features: list[str]
    target: str | None
    qid: str | None
    weight: str | None

    @property
    def others(self) -> list[str]:
        """The columns that are no features."""
        return [c for c in (self.target, self.qid, self.weight) if c is not None]


def choose(
    name: str, names: list[str], wanted: Wanted, likely_targets: list[str] | None = None
) -> Roles:
    """Decide what each column is for.

    The label is the column asked for; else the one named label, target, y, class or response (in
    that order, in any case). A table with other names must be told: guessing would train on the
    wrong column without a word. Where a table has no names, `likely_targets` holds its columns, the
    most likely label first.
    """
    named = likely_targets is None
    names = [c for c in names if not c.startswith(_INDEX_PREFIX)]
    _check_names(name, names)
    names = _without(name, names, wanted.drop)
    qid = _column(name, names, wanted.qid, "qid", named)
    weight = _column(name, names, wanted.weight, "weight", named)
    if named and qid is None and QID_NAME in names:
        qid = QID_NAME
    if named and weight is None and WEIGHT_NAME in names:
        weight = WEIGHT_NAME
    target = None
    if wanted.target is not False:
        target = _column(name, names, wanted.target, "target", named)
        others = [c for c in names if c not in (qid, weight)]
        if target is None:
            likely = likely_targets or [_target_by_name(name, others)]
            target = next((c for c in likely if c in others), None)
    taken = [c for c in (target, qid, weight) if c is not None]
    if len(set(taken)) < len(taken):
        raise DataError(
            f"{name}: target, qid and weight are columns {taken}; expected different columns"
        )
    features = [c for c in names if c not in taken]
    if not features:
        raise DataError(f"{name}: found no feature column beside {taken}; expected at least one")
    return Roles(features, target, qid, weight)


def _check_names(name: str, names: list[str]) -> None:
    if "" in names:
        raise DataError(
            f"{name}: column {names.index('') + 1} has no name; expected a name for every column; "
            "name it or drop it (pandas writes its index so: use to_csv(index=False))"
        )
    column, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise DataError(
            f"{name}: found {count} columns named {column!r}; expected different names; rename them"
        )


def _without(name: str, names: list[str], drop: tuple[str, ...]) -> list[str]:
    unknown = [column for column in drop if column not in names]
    if unknown:
        raise DataError(
            f"{name}: found no column{'s' * (len(unknown) > 1)} {', '.join(map(repr, unknown))} to "
            f"drop; expected some of {_some(names)}"
        )
    return [column for column in names if column not in drop]


def _some(names: list[str]) -> str:
    return ", ".join(repr(n) for n in names[:20]) + (", ..." if len(names) > 20 else "")


def _is_position(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _column(
    name: str, names: list[str], wanted: Column | None, option: str, named: bool
) -> str | None:
    """The column an option asks for, by name or by position (from 0, or from -1 at the end)."""
    if wanted is None or wanted in names:
        return wanted
    is_position = isinstance(wanted, int) or (not named and _is_position(wanted))
    if is_position and -len(names) <= int(wanted) < len(names):
        return names[int(wanted)]
    if not named:
        raise DataError(
            f"{name}: found no {option} column {wanted!r}, as the first line has no names; "
            f"expected a position from 0 to {len(names) - 1} (-1 is the last), or a line of names"
        )
    raise DataError(
        f"{name}: found no {option} column {wanted!r}; expected one of {_some(names)}"
        f"{_meant(str(wanted), names)}"
    )


def _meant(wanted: str, names: list[str]) -> str:
    """The name that was probably meant, if there is one."""
    from difflib import get_close_matches  # slow to import, and needed where something is wrong

    plain = {name.strip("'\" ").lower(): name for name in reversed(names)}
    close = get_close_matches(wanted.lower(), plain, 1)
    return f"; did you mean {plain[close[0]]!r}?" if close else ""


def _target_by_name(name: str, columns: list[str]) -> str:
    lower = {c.lower(): c for c in reversed(columns)}
    for known in TARGET_NAMES:
        if known in lower:
            return lower[known]
    raise DataError(
        f"{name}: found columns {_some(columns)}; expected one named {', '.join(TARGET_NAMES)}; "
        "say which one holds the labels (target=...), or that none does (target=False)"
    )
