"""What is asked of a part once: an error that would come again is an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin.distributed.errors import CERTAIN


@dataclass(frozen=True)
class Unusable:
    """In the place of part `number`, or of what is asked of it: an error that would come again."""

    number: int
    error: Exception


def ask_once(function: Callable[..., Any], part: Any, *arguments: Any) -> Any:
    """``function(part, *arguments)``; an error that is certain is returned, not raised, since
    tasks that raise are tried again."""
    if isinstance(part, Unusable):
        return part
    try:
        return function(part, *arguments)
    except CERTAIN as error:
        return Unusable(part.number, error)


def ask_each(
    held: Sequence[Any], threads: int, function: Callable[..., Any], *arguments: Any
) -> dict[int, Any]:
    """The same of parts that one worker holds, by their numbers."""
    return {part.number: ask_once(function, part, *arguments) for part in held}
