"""The facts that a caller gives about two models, as texts that can be stored and given again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gather_infer.errors import as_option
from gather_infer.rules import RuleSet

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Given:
    """The facts under which two models were compared, as the command line takes them.

    dims, inputs, ranges        texts such as `seq=1..512`, `ids=int64[batch, seq]`, `ids=0..30521`
    initializers_as_constants   whether initializers that are also inputs count as constants
    outputs                     output of the first model -> output of the second, where it was chosen; "" for none
    rules                       the domains of the caller's rule sets, which are code and not stored
    laws                        the names of the laws that a proof may use
    """

    dims: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    initializers_as_constants: bool = False
    outputs: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        """The options of `diff` that give the same facts, without the rules."""
        texts = {"--dim": self.dims, "--input": self.inputs, "--range": self.ranges, "--law": self.laws}
        found = [as_option(option, text) for option, values in texts.items() for text in values]
        found += [as_option("--map", f"{name}={other}") for name, other in self.outputs.items()]
        return [*found, "--initializers-as-constants"] if self.initializers_as_constants else found


def repeatable(specs: Mapping[str, T] | Iterable[str]) -> Mapping[str, T] | Sequence[str]:
    """The argument `dims=`, `inputs=` or `ranges=` of `infer`, for callers that read it more than once."""
    return specs if isinstance(specs, (Mapping, str)) else tuple(specs)


def texts_of(specs: Mapping[str, object] | Iterable[str]) -> tuple[str, ...]:
    """The entries of `dims=`, `inputs=` or `ranges=` of `infer` as texts `NAME=...`."""
    if not isinstance(specs, Mapping):
        return tuple(specs)
    return tuple(f"{name}={_text(value)}" for name, value in specs.items())


def domains_of(rules: Sequence[RuleSet]) -> tuple[str, ...]:
    """The domains of rule sets, sorted."""
    return tuple(sorted({each.domain or "ai.onnx" for each in rules}))


def _text(value: object) -> str:
    """A size, a text or a pair of bounds."""
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return "..".join("" if end is None else str(end) for end in value)
    return str(value)
