"""Result of a verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Binding: TypeAlias = "tuple[tuple[str, int], ...]"
"""Sizes of the symbols of the inputs, in the order of the inputs."""


def shown_binding(binding: Binding) -> str:
    """The binding as text, such as `batch=2 seq=3`; empty for a model without symbols."""
    return " ".join(f"{name}={size}" for name, size in binding)


@dataclass(frozen=True, slots=True)
class VerificationRun:
    """Inputs on which both models ran.

    binding        the sizes of the symbols
    float_inputs   the pattern of the float inputs
    has_elements   whether a compared output had an element
    steps          the number of steps of a model with state; each step starts with the state of the previous one
    """

    binding: Binding
    float_inputs: str
    has_elements: bool = True
    steps: int = 1

    def __str__(self) -> str:
        return shown_binding(self.binding)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A difference of the rewritten model from the original.

    output    name of the output; empty for names, order and inputs that differ, or a failing run
    reason    the difference, if it is not about an element
    binding   the sizes of the run; None for a difference that is found without a run
    index     the index of the first differing element, in row-major order, after the position in a sequence; None if
              the difference is not about an element
    original, rewritten   the two elements as text, with their bits if the texts are equal
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
    """The runs of two models on the same inputs, and their outcome.

    runs                   runs of both models, and those that failed for the rewritten model only
    requested_runs         number of requested random runs; `runs` has fewer if the original fails on the drawn inputs
    redraws                number of draws on which the original failed, or had empty outputs only
    redraw_reason          the reason of the last redraw
    compared_outputs       names of outputs that were compared in some run
    skipped                names of outputs whose elements were not compared, with the reason: they depend on random
                           numbers, or runs of the original differ
    mismatches             differences of the rewritten model
    failure                why nothing was compared; empty if something was
    runtime, version       the runtime that ran the models; empty when none did
    rtol, atol             floats may differ by atol + rtol * |original|; None where every bit is compared
    max_error              the largest difference relative to max(1, |original|); None where every bit is compared
    summation_error        allowed difference of sums, relative to the largest element, because the runtime adds in any
                           order; 0 where every bit is compared
    first_difference       for an IR the first layer that the converted model computes differently, with the difference
    uncovered              outermost If branches and loop bodies that no compared run entered: nothing is verified
                           there. A note lists the bodies for which this is unknown
    notes                  remarks on how the models were run
    differing_feeds        the inputs of the first run that differs or fails, by name; None if none does
    """

    requested_runs: int
    runs: tuple[VerificationRun, ...] = ()
    redraws: int = 0
    redraw_reason: str = ""
    compared_outputs: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    failure: str = ""
    runtime: str = ""
    version: str = ""
    rtol: float | None = None
    atol: float | None = None
    max_error: float | None = None
    summation_error: float = 0.0
    first_difference: str = ""
    notes: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    differing_feeds: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def bindings(self) -> int:
        """The number of different bindings at which the models ran."""
        return len({run.binding for run in self.runs})

    @property
    def with_elements(self) -> int:
        """The number of runs that compared an element."""
        return sum(run.has_elements for run in self.runs)

    @property
    def ok(self) -> bool:
        """True when runs were compared without a mismatch or failure, and outputs were compared or skipped with a
        reason.
        """
        return bool(self.runs and (self.compared_outputs or self.skipped)) and not self.mismatches and not self.failure
