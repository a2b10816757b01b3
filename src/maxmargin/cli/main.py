"""``maxmargin``: every command, and what happens when one fails.

Exit codes: 0 done, 1 failed (one sentence on stderr), 2 wrong usage.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from maxmargin import __version__
from maxmargin.cli import convert, cv, demo, evaluate, export, info, predict, train
from maxmargin.cli.console import fail
from maxmargin.cli.weights import WithWeights


class Commands(TyperGroup):
    """Commands whose expected failures are a sentence, not a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader of our output left: nobody to tell
        except KeyboardInterrupt:
            fail("interrupted; nothing was written")
        except (ValueError, OSError, ImportError, MemoryError) as error:
            fail(error)


app = typer.Typer(
    cls=Commands,
    help="Large-margin learning that scales, every answer with a certificate of how good it is.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("train", cls=WithWeights)(train.train)
app.command("predict")(predict.predict)
app.command("evaluate")(evaluate.evaluate)
app.command("cv", cls=WithWeights)(cv.cv)
app.command("convert")(convert.convert)
app.command("export")(export.export)
app.command("info")(info.info)
app.command("demo")(demo.demo)


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
    app(prog_name="maxmargin")
