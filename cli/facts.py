"""Facts that the user gives about a model, and the options for them."""

from __future__ import annotations

import functools
import shlex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gather_infer.report.output_formats import View

from .console import Console
from .options import FileName, Function, option, with_options
from .saving import Target

if TYPE_CHECKING:
    from gather_infer.model import ModelFile
    from gather_infer.rules import RuleSet
    from gather_infer.user_code.user_code import UserCode

CONSTANTS: Final = "--initializers-as-constants"


class Facts(NamedTuple):
    """The constraints on dims and inputs, the rule files and the extensions from the command line, unparsed.

    constants   whether initializers that are also inputs count as constants
    """

    dims: tuple[str, ...]
    inputs: tuple[str, ...]
    rule_files: tuple[str, ...]
    constants: bool = False
    extensions: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        """The options that the user gave, such as `--dim`."""
        given = {**self._texts(), CONSTANTS: self.constants}
        return [option for option, values in given.items() if values]

    def infer_command(self, model: str) -> str:
        """The shell command that runs `gather-infer infer` on `model` with the same facts."""
        options = [part for option, values in self._texts().items() for value in values for part in (option, value)]
        return shlex.join(["gather-infer", "infer", model, *options, *([CONSTANTS] if self.constants else ())])

    def _texts(self) -> dict[str, tuple[str, ...]]:
        return {
            "--dim": self.dims,
            "--input": self.inputs,
            "--rules": self.rule_files,
            "--extension": self.extensions,
        }

    def code(self, rewrite_files: tuple[str, ...] = ()) -> UserCode:
        """The rule files, the extensions and `rewrite_files`, not loaded yet."""
        from gather_infer.user_code.user_code import UserCode

        return UserCode(self.rule_files, rewrite_files, self.extensions)

    def rules(self) -> list[RuleSet]:
        """The rule sets of the rule files and the extensions. Raises the errors of `UserCode.rule_sets`."""
        return self.code().rule_sets()

    def open_model(self, model: str) -> ModelFile:
        """The model, with the lowerings of the extensions. Raises the errors of `UserCode.open_model`."""
        return self.code().open_model(model)

    def job_options(
        self,
        target: Target | None,
        console: Console,
        *,
        ranges: tuple[str, ...] = (),
        rewrite_files: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """The arguments that all jobs have."""
        return {
            "dims": self.dims,
            "inputs": self.inputs,
            "ranges": ranges,
            "code": self.code(rewrite_files),
            "constants": self.constants,
            "output_format": console.output_format,
            "view": View(console.verbose, console.width),
            "external_data": None if target is None else target.external_data,
            "in_place": target is not None and target.in_place,
            "dim_dialect": None if target is None else target.dim_dialect,
        }


_CODE_OPTIONS: Final = (
    option("--rules", section="Facts", multiple=True, type=FileName(), metavar="FILE.py",
           help="Run FILE.py and use the RuleSets in it."),
    option("--extension", section="Facts", multiple=True, metavar="NAME",
           help="Load the extension NAME of an installed package, which is code."),
)  # fmt: skip


def facts_options(function: Function) -> Function:
    """Add --dim, --input, --rules, --extension and --initializers-as-constants to a command, as its `facts`."""

    @functools.wraps(function)
    def run(
        *args: Any,
        dims: tuple[str, ...],
        inputs: tuple[str, ...],
        rules: tuple[str, ...],
        extension: tuple[str, ...],
        initializers_as_constants: bool,
        **rest: Any,
    ) -> int:
        return function(*args, facts=Facts(dims, inputs, rules, initializers_as_constants, extension), **rest)

    return with_options(
        run,
        option("--dim", "dims", section="Facts", multiple=True, metavar="NAME=VALUE",
               help="Constrain a symbolic dim: seq=128, seq=1..512, total=past+seq."),
        option("--input", "inputs", section="Facts", multiple=True, metavar="NAME=TYPE",
               help="Declare the type of an input: 'ids=int64[batch, seq]'."),
        *_CODE_OPTIONS,
        option(CONSTANTS, section="Facts", is_flag=True, help="Treat initializers that are also inputs as constants."),
    )  # fmt: skip


def code_options(function: Function) -> Function:
    """Add --rules and --extension to a command that takes no constraints, as its `facts`."""

    @functools.wraps(function)
    def run(*args: Any, rules: tuple[str, ...], extension: tuple[str, ...], **rest: Any) -> int:
        return function(*args, facts=Facts((), (), rules, False, extension), **rest)

    return with_options(run, *_CODE_OPTIONS)


def ranges_option(function: Function) -> Function:
    """Add --range to a command, which receives its values as `ranges`."""
    return option(
        "--range", "ranges", section="Facts", multiple=True, metavar="NAME=LOW..HIGH",
        help="Bound the elements of an integer input: ids=0..30521, last=0..seq-1.",
    )(function)  # fmt: skip


def assume_option(function: Function) -> Function:
    """Add --no-assume to a command, which receives it as `no_assume`."""
    return option(
        "--no-assume",
        section="Facts",
        is_flag=True,
        help="Assume nothing; facts that hold only for sizes other than 0 stay unknown.",
    )(function)
