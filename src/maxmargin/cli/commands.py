"""Commands made of options that are declared as data, with help that shows examples first."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from maxmargin.cli import helping
from maxmargin.cli.options import Choices, Option


class Command(TyperCommand):
    """A command with help of our own, which depends on the --kind that was typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["typed"] = tuple(args)
        return super().parse_args(ctx, args)

    def get_usage(self, ctx: Any) -> str:
        return helping.usage(self, ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(helping.text(self, ctx))


def declare(
    app: typer.Typer,
    name: str,
    function: Callable[..., None],
    options: Sequence[Option] = (),
    examples: Sequence[tuple[str, str]] = (),
) -> None:
    """Add a command whose function has its arguments as parameters, and `choices` for the rest."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())[:-1]

    def run(context: typer.Context, **given: Any) -> None:
        arguments = {parameter.name: given.pop(parameter.name) for parameter in own}
        function(**arguments, choices=_choices(context, options, given))

    run.__doc__ = function.__doc__
    named = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("context", named, annotation=typer.Context)]
    parameters += [parameter.replace(kind=named) for parameter in own]
    parameters += [
        inspect.Parameter(option.name, named, default=option.default, annotation=option.annotation)
        for option in options
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    made = type("Command", (Command,), {"options": tuple(options), "examples": tuple(examples)})
    app.command(name, cls=made)(run)


def _choices(context: typer.Context, options: Sequence[Option], given: dict[str, Any]) -> Choices:
    choices = Choices(**{option.name: option.value(given[option.name]) for option in options})
    choices.typed = frozenset(
        option.name
        for option in options
        if getattr(context.get_parameter_source(option.name), "name", "") == "COMMANDLINE"
    )
    return choices
