"""Rules that other processes can import; one ends its process, as a crash or the memory killer would."""

from __future__ import annotations

import os
import signal

from gather_infer.rules import OpCall, RuleSet
from gather_infer.tensor import SymbolicTensor

rules = RuleSet("com.example")


@rules.rule("Twice", since=1)
def twice(op: OpCall) -> list[SymbolicTensor]:
    """As the input."""
    return [op.tensor(0)]


@rules.rule("Killer", since=1)
def killer(op: OpCall) -> list[SymbolicTensor]:
    """Return nothing: the process that would receive it has ended."""
    os.kill(os.getpid(), signal.SIGKILL)
    return [op.tensor(0)]


@rules.rule("Fault", since=1)
def fault(op: OpCall) -> list[SymbolicTensor]:
    """A mistake in a rule."""
    raise ZeroDivisionError("a rule with a mistake")
