"""The help of a command: examples first, then arguments, shared options, and one box per kind."""

from __future__ import annotations

import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.options import OUTPUT, Option

if TYPE_CHECKING:
    from maxmargin.cli.kinds import Kind

HELP = Option("-h --help", "This; of one kind with --kind.", bool, False, group=OUTPUT)
WIDEST = 100
WIDE_EXAMPLE = 50  # columns for an example
NAMES = 27  # columns for the names of options


def text(command: Any, ctx: Any) -> str:
    """All of it, for the --kind that was typed if there is one."""
    from maxmargin.cli.kinds import KINDS

    kinds = KINDS if any(option.name == "kind" for option in command.options) else {}
    kind = kinds.get(_typed_kind(ctx.meta.get("typed", ())))
    own = {option.name for entry in kinds.values() for option in entry.options}
    shared = [option for option in command.options if option.name not in own]
    examples = command.examples if kind is None else kind.examples(ctx.info_name)
    lines = [usage(command, ctx), *_about(command.callback)]
    lines += _examples(examples)
    lines += _arguments(command)
    shared.append(HELP)
    rare = [option for option in shared if option.rare and kinds and kind is None]
    told = [option for option in shared if option not in rare]
    for group in dict.fromkeys(option.group for option in told):
        lines += _section(group, [option for option in told if option.group == group])
    if kind is not None:
        lines += _section(f"Only --kind {kind.name}", _known(kind.options, command), kind)
    elif kinds:
        lines += _boxes(rare, kinds.values(), command, ctx)
    return "\n".join(lines) + "\n"


def _typed_kind(typed: Sequence[str]) -> str:
    """The kind among the arguments, wherever it stands; unknown ones are as none."""
    for word, following in zip(typed, (*typed[1:], "")):
        if word == "--kind":
            return following
        if word.startswith("--kind="):
            return word.partition("=")[2]
    return ""


def usage(command: Any, ctx: Any) -> str:
    """How the command is typed."""
    return f"{_bold('Usage:')} {ctx.command_path} [OPTIONS] " + " ".join(
        _metavar(parameter) for parameter in _positional(command)
    )


def _about(function: Any) -> list[str]:
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    return [line for part in paragraphs for line in textwrap.wrap(" ".join(part.split()), _width())]


def _examples(examples: Iterable[tuple[str, str]]) -> list[str]:
    """Commands with what they do beside them, or below where the line has no room."""
    lines = []
    for typed, why in examples:
        room = WIDE_EXAMPLE - len(typed)
        if room >= 2:
            lines.append(f"  maxmargin {typed}{'':{room}}{_dim(why)}")
        else:
            lines += [f"  maxmargin {typed}", f"{'':{WIDE_EXAMPLE + 12}}{_dim(why)}"]
    return [_bold("Examples:"), *lines] if lines else []


def _positional(command: Any) -> list[Any]:
    return [parameter for parameter in command.params if parameter.param_type_name == "argument"]


def _metavar(parameter: Any) -> str:
    return parameter.metavar if parameter.required else f"[{parameter.metavar}]"


def _arguments(command: Any) -> list[str]:
    lines = []
    for parameter in _positional(command):
        lines += _entry(_metavar(parameter), parameter.help or "")
    return [_bold("Arguments:"), *lines] if lines else []


def _section(title: str, options: Sequence[Option], kind: Kind | None = None) -> list[str]:
    if not options:
        return []
    lines = []
    for option in options:
        choices = option.choices
        if kind is not None and option.name == "solver":
            choices = kind.solvers
        if option.name == "kind":  # the boxes tell
            choices = ()
        lines += _entry(_names(option), _explained(option, choices))
    return [_bold(f"{title}:"), *lines]


def _names(option: Option) -> str:
    typed = ", ".join(option.flags.split()).replace("/", " / ")
    words = option.metavar or ("WORD" if option.choices else None)
    return f"{typed} {words}" if words else typed


def _explained(option: Option, choices: Sequence[str]) -> str:
    words = f" {', '.join(choices)}." if choices else ""
    default = option.said
    if default is None and option.default not in (None, False):
        default = f"{option.default:g}" if isinstance(option.default, float) else option.default
    return f"{option.help}{words}" + ("" if default is None else f" [{default}]")


def _entry(names: str, explained: str) -> list[str]:
    """The names in bold and the sentence beside them, broken where it is long."""
    wrapped = textwrap.wrap(explained, _width() - NAMES - 4) or [""]
    if len(names) > NAMES:
        return [f"  {_bold(names)}", *(f"{'':{NAMES + 4}}{line}" for line in wrapped)]
    first, *rest = wrapped
    head = f"  {_bold(names)}{'':{NAMES - len(names)}}  {first}"
    return [head, *(f"{'':{NAMES + 4}}{line}" for line in rest)]


def _boxes(rare: Sequence[Option], kinds: Iterable[Kind], command: Any, ctx: Any) -> list[str]:
    """A box for what all kinds take and few people need, then one per kind, joined.

    A kind that is much like another stands in the title of its box.
    """
    lines = _box("╭", "every kind", rare, "╮")
    kinds = list(kinds)
    for kind in kinds:
        if kind.beside:
            continue
        others = [other.name for other in kinds if other.beside == kind.name]
        also = "".join(", " + name.removeprefix(kind.name) for name in others)
        title = f"--kind {kind.name}{also}: {kind.about}"
        lines += _box("├", title, _known(kind.options, command), "┤")
    return [*lines, _ruled("╰", f"what they mean: {ctx.command_path} --kind KIND --help", "╯")]


def _box(left: str, title: str, options: Iterable[Option], right: str) -> list[str]:
    room = _width() - 4
    names = " ".join(option.flags.split()[-1].split("/")[0] for option in options)
    wrapped = textwrap.wrap(names, room, break_on_hyphens=False)
    return [_ruled(left, title, right), *(f"│ {line:<{room}} │" for line in wrapped)]


def _ruled(left: str, title: str, right: str) -> str:
    return f"{left}─ {title} {'─' * (_width() - len(title) - 5)}{right}"


def _known(options: Iterable[Option], command: Any) -> list[Option]:
    return [option for option in options if option in command.options]


def _width() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST)


def _bold(words: str) -> str:
    return typer.style(words, bold=True) if sys.stdout.isatty() else words


def _dim(words: str) -> str:
    return typer.style(words, dim=True) if sys.stdout.isatty() else words


def overview(group: Any, ctx: Any) -> str:
    """Help of the program: its commands, a line each, and what it takes without one."""
    lines = [
        f"{_bold('Usage:')} {ctx.command_path} COMMAND ...",
        *textwrap.wrap(group.help, _width()),
    ]
    lines.append(_bold("Commands:"))
    for name in group.list_commands(ctx):
        about = inspect.getdoc(group.commands[name].callback) or ""
        sentence = re.split(r"(?<=\.)\s", about.split("\n\n")[0])[0]
        lines += _entry(name, " ".join(sentence.split()))
    lines.append(_bold("Options:"))
    for option in group.get_params(ctx):
        lines += _entry(", ".join(sorted(option.opts, key=len)), option.help or "")
    lines.append(f"What a command takes: {ctx.command_path} COMMAND --help")
    return "\n".join(lines) + "\n"
