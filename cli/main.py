"""The program: its commands, and the handling of their failures."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

import click

from gather_infer.errors import GatherInferError

from . import completers
from .console import announce
from .interrupts import defer_interrupts, interruption, stop_if_interrupted, was_interrupted

COMMANDS = {
    "check": "Check models for problems that would break deployment.",
    "completion": "Print a shell completion script.",
    "compose": "Join two models.",
    "contract": "Derive what inputs must satisfy for a run to succeed.",
    "convert": "Convert an OpenVINO IR, or OpenVINO nodes in ONNX, to ONNX.",
    "cost": "Estimate multiply-adds, bytes and peak memory as formulas.",
    "diff": "Compare two models, by proof or by runs.",
    "explain": "Explain a shape, a symbol or a code.",
    "extract": "Cut out a subgraph.",
    "fold": "Fold nodes with known results into constants.",
    "freeze": "Fix input sizes.",
    "infer": "Infer symbolic types and shapes.",
    "inspect": "Summarize files.",
    "ops": "List supported operators.",
    "optimize": "Make a model smaller and faster with the same results.",
    "outputs": "Add or remove outputs.",
    "page": "Write an interactive report.",
    "rename": "Rename inputs, outputs, dims or nodes.",
    "tensors": "List tensors.",
    "unfreeze": "Make a fixed size dynamic.",
}
"""The commands, with the first sentence of their help. The module with the name of a command defines it as `command`
and is imported on first use."""

USAGE, UNREADABLE, INTERNAL_ERROR, BROKEN_PIPE = 2, 3, 4, 141


class Program(click.Group):
    """A group that loads commands lazily, suggests names, and turns every exception into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f".{cmd_name}", __package__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from COMMANDS, without importing them."""
        room = formatter.width - 6 - max(map(len, COMMANDS))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(n, click.Command(n, help=text).get_short_help_str(room)) for n, text in COMMANDS.items()]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, self.list_commands(ctx), 1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(self.list_commands(ctx))}"
            ctx.fail(f"no command '{name}'; {hint}")
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run the command and exit: 0 to 4 as documented, 130 or 143 for a signal, 141 for a closed pipe."""
        arguments = list(sys.argv[1:] if args is None else args)
        failures = _FailureReporter(
            "--debug" in arguments, "--no-color" not in arguments, is_silent=completers.is_completing()
        )
        # The program creates few reference cycles, and collecting them took a tenth of the time of a large model.
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            code = self._run(arguments, complete_var, windows_expand_args, extra, failures)
        except BrokenPipeError:
            _abandon_stdout()
            code = BROKEN_PIPE
        # The outermost boundary: an unexpected exception is an internal error, for which the user gets one line to
        # report and a separate exit code instead of a traceback.
        except Exception as error:  # noqa: BLE001
            code = failures.explain(error)
        finally:
            if args is None:
                gc.freeze()  # the interpreter then skips these objects in its collection at exit
            elif was_enabled:
                gc.enable()
        sys.exit(code)

    def _run(
        self,
        args: list[str],
        complete_var: str | None,
        windows_expand_args: bool,
        extra: dict[str, Any],
        failures: _FailureReporter,
    ) -> int:
        """Run the command; the exit code of a command that returns, is interrupted or reports a usage error."""
        try:
            if not args and not complete_var:
                args = ["--help"]
            result = super().main(
                args, "gather-infer", complete_var, False, windows_expand_args=windows_expand_args, **extra
            )
            sys.stdout.flush()
            stop_if_interrupted()
        except click.Abort:  # click's name for an interrupt
            return failures.interrupted()
        except click.ClickException as error:
            failures.usage(error)
            return USAGE
        return result if isinstance(result, int) else 0

    def invoke(self, ctx: click.Context) -> Any:
        # click itself would exit with 1 on a broken pipe
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _abandon_stdout()
            ctx.exit(BROKEN_PIPE)


def _unknown_option(error: click.NoSuchOption) -> str:
    """The message of the error, whose own text depends on the version of click."""
    similar = sorted(error.possibilities or ())
    match similar:
        case []:
            hint = ""
        case [one]:
            hint = f". Did you mean '{one}'?"
        case _:
            hint = f". Similar options: {', '.join(similar)}"
    return f"No such option '{error.option_name}'{hint}"


class _FailureReporter(NamedTuple):
    """Prints failures: one line and, with --debug, the traceback; nothing while a shell requests completions."""

    debug: bool
    colour: bool
    is_silent: bool = False

    def report(self, text: str) -> None:
        if not self.is_silent:
            announce(text, colour=self.colour)

    def usage(self, error: click.ClickException) -> None:
        message = (
            _unknown_option(error) if isinstance(error, click.NoSuchOption) else error.format_message().rstrip(".")
        )
        self.report(f"error: {message[:1].lower()}{message[1:]}")
        if isinstance(error, click.UsageError) and error.ctx is not None:
            self.report(f"try '{error.ctx.command_path} --help'")

    def interrupted(self) -> int:
        """Report the interrupt once, also if more signals arrive meanwhile; returns the exit code."""
        defer_interrupts()
        message, code = interruption()
        self.report(message)
        return code

    def explain(self, error: Exception) -> int:
        """Print one line for `error` and return the exit code."""
        import traceback

        if self.debug:
            traceback.print_exception(error)
        if was_interrupted():  # C code, as numpy's import, may replace KeyboardInterrupt by another exception
            return self.interrupted()
        if isinstance(error, GatherInferError):
            self.report(f"error: {error}")
            return error.exit_code
        frames = traceback.extract_tb(error.__traceback__)
        text = " ".join(f"{type(error).__name__}: {error}".split())
        if isinstance(error, OSError) and error.filename is None and _is_output(frames[-1].filename):
            _abandon_stdout()
            self.report(f"error: standard output: {error.strerror}")
            return UNREADABLE
        own_frames = [frame for frame in frames if "gather_infer" in frame.filename]
        where = (own_frames or frames)[-1]
        file = os.path.join(*where.filename.split(os.sep)[-2:])
        self.report(f"error: internal error of gather-infer, report it with this line: {text} [{file}:{where.lineno}]")
        return INTERNAL_ERROR


def _is_output(filename: str) -> bool:
    """Whether `filename` is a source file of click or of the command line, which write to standard streams only."""
    return os.sep + "click" + os.sep in filename or os.path.dirname(__file__) == os.path.dirname(filename)


def _abandon_stdout() -> None:
    """Redirect standard output to the null device, so that the interpreter's flush at exit cannot fail."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # the stream has no file descriptor
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _versions(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    """Print the versions of the program, onnx and numpy, without importing the last two."""
    if is_wanted:
        from importlib.metadata import version

        from gather_infer import __version__

        others = ", ".join(f"{name} {version(name)}" for name in ("onnx", "numpy"))
        click.echo(f"gather-infer {__version__}, {others}")
        context.exit()


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_versions,
              help="Show the versions of gather-infer, onnx and numpy and exit.")  # fmt: skip
def main() -> None:
    """Symbolic shape inference, checks and rewriting for ONNX models."""
