"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Binding: TypeAlias = "tuple[tuple[str, int], ...]"
"""Sizes of the symbols of the inputs, in the order in which these stand in the inputs."""


def shown_binding(binding: Binding) -> str:
    """`batch=2 seq=3`, empty for a model without symbols."""
    return " ".join(f"{name}={size}" for name, size in binding)


@dataclass(frozen=True, slots=True)
class Run:
    """Inputs on which both models ran.

    binding        the sizes
    numbers        what kinds of numbers the float inputs hold
    has_elements   an output that was compared had an element at least
    steps          how many steps a model with state made, each on what the one before had left
    """

    binding: Binding
    numbers: str
    has_elements: bool = True
    steps: int = 1

    def __str__(self) -> str:
        return shown_binding(self.binding)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something that the rewritten model does otherwise.

    output    its name; empty when it is not about one output: the interface, a run that fails
    reason    what is different, where there is no element to show
    binding   the sizes of the run, None when it takes no run to see it
    index     the first element that differs, in row-major order; of a sequence its position comes first. None when it
              is not about an element
    original, rewritten   the two elements, with their bits where the numbers look alike
    """

    output: str
    reason: str = ""
    binding: Binding | None = None
    index: tuple[int, ...] | None = None
    original: str = ""
    rewritten: str = ""

    def __str__(self) -> str:
        place = [f"output {self.output}"] if self.output else []
        if self.binding:
            place.append(f"at {shown_binding(self.binding)}")
        what = self.reason
        if self.index is not None:
            what = f"element {list(self.index)} is {self.rewritten}, was {self.original}"
        return f"{' '.join(place)}: {what}" if place else what


@dataclass(frozen=True, slots=True)
class Verification:
    """The runs of two models on the same inputs, and what came of it.

    runs        those that both models did, or that the rewritten one failed
    wanted      how many were asked for: there are fewer where the original fails on what is drawn
    redrawn     draws on which the original failed, or gave no element; `why_redrawn` is the last reason
    compared    names of outputs that were compared in some run
    skipped     names of outputs whose elements were not compared, with the reason: they depend on random numbers, or
                runs of the original differ among themselves
    mismatches  what the rewritten model does otherwise
    fault       why there is nothing to compare, empty where there is
    runtime, version   what ran the models; empty when nothing did
    rtol, atol  floats may be apart by atol + rtol * |original|; None where every bit is compared
    error       how far they are at most, relative to max(1, |original|), where they may be apart
    noise       how far sums may be apart, relative to the largest element, because the runtime adds in any order; 0
                where every bit is compared
    first       of an IR the first layer that the converted model computes otherwise, and how
    untaken     branches of an If and bodies of loops that no run which was compared came to, none inside another one:
                nothing was seen of what they hold. A note has why that is not known, where it is not
    notes       what else is to be known of how the models were run
    """

    wanted: int
    runs: tuple[Run, ...] = ()
    redrawn: int = 0
    why_redrawn: str = ""
    compared: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    fault: str = ""
    runtime: str = ""
    version: str = ""
    rtol: float | None = None
    atol: float | None = None
    error: float | None = None
    noise: float = 0.0
    first: str = ""
    notes: tuple[str, ...] = ()
    untaken: tuple[str, ...] = ()

    @property
    def bindings(self) -> int:
        """At how many different sizes the models ran."""
        return len({run.binding for run in self.runs})

    @property
    def with_elements(self) -> int:
        """How many runs compared an element."""
        return sum(run.has_elements for run in self.runs)

    @property
    def ok(self) -> bool:
        """True when something was compared, or all outputs depend on random numbers, and nothing differs."""
        return bool(self.runs and (self.compared or self.skipped)) and not self.mismatches and not self.fault
