"""Frame of the drop-in commands: exit codes of the scripts that they replace, and one line for each failure."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from gather_infer.errors import GatherInferError

FAILED: Final = 1
"""Exit code of every failure but a wrong command line: the scripts end with a traceback, which is 1 too."""

_INTERRUPTED: Final = 130


def parser_of(name: str, description: str, example: str, **settings: Any) -> argparse.ArgumentParser:
    """A parser for `python -m gather_infer.compat.NAME`; `example` are arguments that work, shown below the options."""
    program = f"python -m gather_infer.compat.{name}"
    return argparse.ArgumentParser(
        prog=program, description=description, epilog=f"example: {program} {example}", **settings
    )


def run(command: Callable[[Sequence[str]], int], arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its code; a GatherInferError is one line on standard error, and code 1.

    arguments   those of the command line, by default `sys.argv[1:]`
    """
    try:
        code = command(sys.argv[1:] if arguments is None else arguments)
    except GatherInferError as error:
        print(f"error: {error}", file=sys.stderr)
        code = FAILED
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        code = _INTERRUPTED
    sys.exit(code)


def add_inference_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for symbolic shape inference."""
    parser.add_argument(
        "--auto_merge", action="store_true", help="take two input dims for equal if a node broadcasts them"
    )
    parser.add_argument(
        "--int_max", type=int, default=2**31 - 1, help="largest size of a dim; a slice up to this end is to the end"
    )
    parser.add_argument(
        "--guess_output_rank", action="store_true", help="give outputs of unknown operators the rank of input 0"
    )
    parser.add_argument(
        "--verbose", type=int, default=0, help="0: print errors only, 1: warnings and unknown dims, 3: every tensor"
    )


def add_data_options(parser: argparse.ArgumentParser, location: str | None) -> None:
    """Add the options for external data; `location` is the default of --external_data_location."""
    parser.add_argument("--save_as_external_data", action="store_true", help="write large tensors to other files")
    parser.add_argument(
        "--all_tensors_to_one_file", action="store_true", help="one file for all of them, not one for each"
    )
    parser.add_argument("--external_data_location", default=location, help="name of this file; default: OUTPUT.data")
    parser.add_argument(
        "--external_data_size_threshold", type=int, default=1024, help="bytes from which on a tensor is large"
    )
