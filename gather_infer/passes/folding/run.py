"""The folding pass: nodes of the gather family with a known result become constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gather_infer.errors import UsageError
from gather_infer.inference import infer
from gather_infer.inference.interface import declare
from gather_infer.model.apply import apply
from gather_infer.model.edits import Journal
from gather_infer.model.given import GivenModel, as_given, to_model_file
from gather_infer.passes.folding.plan import BY, DEFAULT_MAX_BYTES, Folded, plan_folds
from gather_infer.passes.result import PassResult
from gather_infer.rules import RuleSet

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FoldResult(PassResult):
    """A folded model; `folded` are the nodes whose result is now a constant."""

    folded: tuple[Folded, ...]


def fold(
    model: GivenModel,
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
) -> FoldResult:
    """Nodes of the gather family whose result is the same in every run, replaced by constants; `gather_infer.fold`.

    A result is known when all inputs are constant (an initializer that is also an input is not), or when the
    inference knows all elements as numbers: `Gather(Shape(x), 1)` of a static dim. Nothing is folded that rests on
    an assumption. Results are bit for bit those of the node. Constants, `Shape` and `Size` nodes that only fed
    folded nodes go as well; everything else stays.

    model       a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    max_bytes   of a new constant; a node with a larger result is left alone and reported
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them so

    Raises ModelReadError when the model or its external data cannot be read, ModelStructureError when it cannot be
    rewritten safely (a cycle, a name defined twice), UsageError for a negative `max_bytes` and as `infer`.
    """
    if max_bytes < 0:
        raise UsageError(f"max_bytes must be >= 0, is {max_bytes}")
    source = to_model_file(model)
    inference = infer(source, dims=dims, inputs=inputs, rules=rules, assume=False)
    plan = plan_folds(inference, max_bytes=max_bytes)
    journal = Journal()
    for rewrite in plan.rewrites:
        journal.add(*rewrite.edits)
    journal.add(*plan.dead.edits(BY))
    declared, interface = declare(source.proto, inference, rests=bool(journal.edits))
    proto = apply(journal, declared)
    return FoldResult(
        model=as_given(model, proto),
        folded=tuple(plan.folded),
        diagnostics=(*inference.diagnostics, *plan.left),
        journal=journal,
        source=source,
        proto=proto,
        interface=interface,
    )
