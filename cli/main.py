"""The program: its commands, and what every failure of them looks like."""

from __future__ import annotations

import difflib
import gc
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn

import click

from gather_infer.errors import GatherInferError

from . import completing
from .console import announce
from .interrupts import INTERRUPTED, stop_if_interrupted, was_interrupted

COMMANDS = {
    "check": "Print what hurts when models are deployed.",
    "completion": "Print what makes a shell complete commands, options, files, operators, codes and tensors.",
    "contract": "Print what the inputs have to be, so that no run fails.",
    "convert": "Convert an OpenVINO IR, or the OpenVINO-style nodes of an ONNX file, to plain ONNX.",
    "cost": "Print multiply-adds, bytes and the peak of live activations.",
    "explain": "Print why a tensor has its shape, where a symbol comes from, or what a code means.",
    "fold": "Replace nodes whose results are known by constants.",
    "freeze": "Make dims of the inputs numbers, and those of the outputs that follow.",
    "infer": "Print symbolic types and shapes, and what is wrong.",
    "inspect": "Print what is in model files, several side by side.",
    "ops": "Print the operators that are known, or one in detail.",
    "optimize": "Make a model smaller and faster that computes the same, bit for bit.",
    "tensors": "Print the tensors of a model, what makes each of them, and why something of it is not known.",
}
"""What there is, by name, with the first sentence of its help: the module of that name beside this one has it as
`command`, and is imported on first use."""

USAGE, UNREADABLE, OUR_FAULT, BROKEN_PIPE = 2, 3, 4, 141


class Program(click.Group):
    """A group that finds and suggests commands and turns every exception into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f".{cmd_name}", __package__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with their first sentences; none is imported for that."""
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
        """Runs the command and exits: 0 to 4 as documented, 130 when interrupted, 141 when nobody reads on."""
        arguments = list(sys.argv[1:] if args is None else args)
        failures = _Failures("--debug" in arguments, "--no-color" not in arguments, is_silent=completing.is_asked())
        # Cycles hold next to nothing here, and the search for them took a tenth of the time of a large model.
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            code = self._run(arguments, complete_var, windows_expand_args, extra, failures)
        except BrokenPipeError:
            _abandon_stdout()
            code = BROKEN_PIPE
        # The one outermost boundary: whatever nobody foresaw is our own fault, and a user who meets it is owed one
        # line to report and an exit code of its own, not a traceback.
        except Exception as error:  # noqa: BLE001
            code = failures.explain(error)
        finally:
            if args is None:
                gc.freeze()  # the process ends: the interpreter need not search all that was made either
            elif was_enabled:
                gc.enable()
        sys.exit(code)

    def _run(
        self,
        args: list[str],
        complete_var: str | None,
        windows_expand_args: bool,
        extra: dict[str, Any],
        failures: _Failures,
    ) -> int:
        """Runs the command; the exit code of whatever ended it in an orderly way."""
        try:
            if not args and not complete_var:
                args = ["--help"]
            result = super().main(
                args, "gather-infer", complete_var, False, windows_expand_args=windows_expand_args, **extra
            )
            sys.stdout.flush()
            stop_if_interrupted()
        except click.Abort:  # click's name for an interrupt
            failures.say("error: interrupted")
            return INTERRUPTED
        except click.ClickException as error:
            failures.usage(error)
            return USAGE
        return result if isinstance(result, int) else 0

    def invoke(self, ctx: click.Context) -> Any:
        # click itself would answer a broken pipe with exit code 1
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _abandon_stdout()
            ctx.exit(BROKEN_PIPE)


@dataclass(frozen=True, slots=True)
class _Failures:
    """What is printed when a command fails: one line and, with --debug, the traceback; nothing to a shell that asks."""

    debug: bool
    colour: bool
    is_silent: bool = False

    def say(self, text: str) -> None:
        if not self.is_silent:
            announce(text, colour=self.colour)

    def usage(self, error: click.ClickException) -> None:
        message = error.format_message().rstrip(".")
        self.say(f"error: {message[:1].lower()}{message[1:]}")
        if isinstance(error, click.UsageError) and error.ctx is not None:
            self.say(f"try '{error.ctx.command_path} --help'")

    def explain(self, error: Exception) -> int:
        """Prints the line for `error`; the exit code."""
        if self.debug:
            traceback.print_exception(error)
        if was_interrupted():  # code in C, as that which imports numpy, may make another exception of it
            self.say("error: interrupted")
            return INTERRUPTED
        if isinstance(error, GatherInferError):
            self.say(f"error: {error}")
            return error.exit_code
        frames = traceback.extract_tb(error.__traceback__)
        text = " ".join(f"{type(error).__name__}: {error}".split())
        if isinstance(error, OSError) and error.filename is None and _is_output(frames[-1].filename):
            _abandon_stdout()
            self.say(f"error: standard output: {error.strerror}")
            return UNREADABLE
        ours = [frame for frame in frames if "gather_infer" in frame.filename]
        where = (ours or frames)[-1]
        file = os.path.join(*where.filename.split(os.sep)[-2:])
        self.say(
            f"error: a fault of gather-infer itself, to be reported with this line: {text} [{file}:{where.lineno}]"
        )
        return OUR_FAULT


def _is_output(filename: str) -> bool:
    """Whether code in `filename` only ever writes to the standard streams."""
    return os.sep + "click" + os.sep in filename or os.path.dirname(__file__) == os.path.dirname(filename)


def _abandon_stdout() -> None:
    """Lets nothing be written to standard output any more, also not by the interpreter when it ends."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # no real file behind it
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _versions(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    """Prints the versions of the program and of what its answers rest on, read without importing them."""
    if is_wanted:
        from importlib.metadata import version

        others = ", ".join(f"{name} {version(name)}" for name in ("onnx", "numpy"))
        click.echo(f"gather-infer {version('gather-infer')}, {others}")
        context.exit()


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_versions,
              help="Show the versions, onnx's and numpy's too, and exit.")  # fmt: skip
def main() -> None:
    """Types and shapes of ONNX models in their own symbols, and what can be computed ahead of a run."""
