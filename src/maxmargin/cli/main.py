"""``maxmargin``: every command, and what happens when one fails.

Exit codes: 0 done, 1 failed (one sentence on stderr), 2 wrong usage.
"""

from __future__ import annotations

import sys
import threading
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from maxmargin import __version__
from maxmargin.cli import (
    convert,
    cv,
    demo,
    evaluate,
    export,
    helping,
    info,
    predict,
    report,
    scale,
    train,
)
from maxmargin.cli.commands import declare
from maxmargin.cli.console import fail, print_error, printable
from maxmargin.cli.liblinear import understood
from maxmargin.cli.options import spelled
from maxmargin.cli.streams import close_stdout, open_standard_streams
from maxmargin.cli.wording import for_shell
from maxmargin.parameters import ParameterError

NO_THREAD = (
    "the system lets this process start no more threads: end other programs, or raise the limit "
    "on processes (ulimit -u) or of the container"
)
UsageError: Any = typer.BadParameter.__mro__[1]  # typer has it and does not export it


class Commands(TyperGroup):
    """Commands whose expected failures are a sentence, not a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:
            typer.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, understood(args, self._options))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(helping.overview(self, ctx))

    def _options(self, command: str) -> set[str]:
        return {parameter.name for parameter in self.commands[command].params if parameter.name}

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader of our output left: nobody to tell
        except KeyboardInterrupt:
            # A BLAS that is loaded late interrupts the process where it cannot start its threads.
            fail("interrupted; nothing was written" if _can_start_a_thread() else NO_THREAD)
        except UsageError as error:
            said = error.format_message()  # it quotes what was typed
            if said == printable(said):
                raise
            raise UsageError(printable(said), ctx=error.ctx) from None
        except ParameterError as error:
            said = for_shell(error.worded(spelled(error.name)))
            raise typer.BadParameter(printable(said)) from error
        except (ValueError, OSError, ImportError, MemoryError) as error:
            fail(error)
        except RuntimeError as error:
            if "start new thread" not in str(error):
                raise
            fail(NO_THREAD)


def _can_start_a_thread() -> bool:
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        return False
    return True


app = typer.Typer(
    cls=Commands,
    help="Large-margin learning that scales, every answer with a certificate of how good it is.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (train, predict, evaluate, cv, convert, scale, export, info, report, demo):
    name = module.__name__.rpartition(".")[2]
    declare(app, name, getattr(module, name), module.OPTIONS, getattr(module, "EXAMPLES", ()))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"maxmargin {__version__}")
        raise typer.Exit()


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """The entry point of the console script."""
    open_standard_streams()
    code: object = 0
    try:
        app(prog_name="maxmargin")
    except SystemExit as end:
        code = end.code
    # Before there is a command: of --help, --version, and of what reads options.
    except (OSError, ImportError, MemoryError) as error:
        print_error(error)
        code = 1
    sys.exit(close_stdout(code if isinstance(code, int) else 0))
