"""Facts that the user gives about a model, and the options for them."""

from __future__ import annotations

import functools
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .options import Function, option, with_options
from .rule_files import load_sets

if TYPE_CHECKING:
    from gather_infer.rules import RuleSet

CONSTANTS: Final = "--initializers-as-constants"


@dataclass(frozen=True, slots=True)
class Facts:
    """The constraints on dims and inputs and the rule files from the command line, unparsed.

    constants   whether initializers that are also inputs count as constants
    """

    dims: tuple[str, ...]
    inputs: tuple[str, ...]
    rule_files: tuple[str, ...]
    constants: bool = False

    @property
    def options(self) -> list[str]:
        """The options that the user gave, such as `--dim`."""
        given = {"--dim": self.dims, "--input": self.inputs, "--rules": self.rule_files, CONSTANTS: self.constants}
        return [option for option, values in given.items() if values]

    def infer_command(self, model: str) -> str:
        """The shell command that runs `gather-infer infer` on `model` with the same facts."""
        given = {"--dim": self.dims, "--input": self.inputs, "--rules": self.rule_files}
        options = [part for option, values in given.items() for value in values for part in (option, value)]
        return shlex.join(["gather-infer", "infer", model, *options, *([CONSTANTS] if self.constants else ())])

    def rules(self) -> list[RuleSet]:
        """Run the rule files and return the rule sets in them. Raises the errors of `load_sets`."""
        from gather_infer.rules import RuleSet

        return load_sets(self.rule_files, RuleSet, "--rules")


def facts_options(function: Function) -> Function:
    """Add --dim, --input, --rules and --initializers-as-constants to a command, which receives them as `facts`."""

    @functools.wraps(function)
    def run(
        *args: Any,
        dims: tuple[str, ...],
        inputs: tuple[str, ...],
        rules: tuple[str, ...],
        initializers_as_constants: bool,
        **rest: Any,
    ) -> int:
        return function(*args, facts=Facts(dims, inputs, rules, initializers_as_constants), **rest)

    return with_options(
        run,
        option("--dim", "dims", section="Facts", multiple=True, metavar="NAME=VALUE",
               help="Constrain a symbolic dim: seq=128, seq=1..512, total=past+seq."),
        option("--input", "inputs", section="Facts", multiple=True, metavar="NAME=TYPE",
               help="Declare the type of an input: 'ids=int64[batch, seq]'."),
        option("--rules", section="Facts", multiple=True, metavar="FILE.py",
               help="Run FILE.py and use the RuleSets in it."),
        option(CONSTANTS, section="Facts", is_flag=True, help="Treat initializers that are also inputs as constants."),
    )  # fmt: skip


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
