"""The folding pass: nodes of the gather family with a known result become constants."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnx import ModelProto, TensorProto

from gather_infer.diagnostic import Diagnostic
from gather_infer.domains import qualified
from gather_infer.errors import ModelReadError, UsageError
from gather_infer.inference import infer
from gather_infer.model import ModelFile, SaveReport, save
from gather_infer.model.apply import apply
from gather_infer.model.edits import AddInitializer, Journal
from gather_infer.model.given import GivenModel, as_given, to_model_file
from gather_infer.model.paths import bodies
from gather_infer.model.tensors import iter_tensors
from gather_infer.passes.folding.plan import DEFAULT_MAX_BYTES, Folded, Plan, plan_folds
from gather_infer.rules import RuleSet

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

_BY = "fold"


@dataclass(frozen=True, slots=True)
class Size:
    """How large a model is: nodes by operator, over all its graphs and functions, and bytes of its constants."""

    operators: Counter[str]
    initializers: int
    weight_bytes: int

    @property
    def nodes(self) -> int:
        return self.operators.total()


@dataclass(frozen=True, slots=True, eq=False)
class FoldResult:
    """A folded model and what was done.

    model        of the kind that was given: a graphsurgeon Graph for one, else a ModelProto. For a path its large
                 weights are still on disk; `save` writes them out
    folded       the nodes whose result is now a constant
    diagnostics  what the inference found, and the nodes that could not be folded
    journal      the edits
    """

    model: ModelProto | gs.Graph
    folded: tuple[Folded, ...]
    diagnostics: tuple[Diagnostic, ...]
    journal: Journal
    source: ModelFile
    proto: ModelProto

    @property
    def before(self) -> Size:
        return _size(self.source, self.source.proto)

    @property
    def after(self) -> Size:
        return _size(self.source, self.proto)

    def save(
        self, path: str | os.PathLike[str], *, external_data: str | None = None, in_place: bool = False
    ) -> SaveReport:
        """Write the folded model, whole or not at all. Raises as `gather_infer.model.save`."""
        return save(self.source, self.proto, path, external_data=external_data, in_place=in_place)


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
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them as before

    Raises ModelReadError when the model or its external data cannot be read, ModelStructureError when it cannot be
    rewritten safely (a cycle, a name defined twice), UsageError for a negative `max_bytes` and as `infer`.
    """
    if max_bytes < 0:
        raise UsageError(f"max_bytes must be >= 0, is {max_bytes}")
    source = to_model_file(model)
    inference = infer(source, dims=dims, inputs=inputs, rules=rules, assume=False)
    plan = plan_folds(inference, max_bytes=max_bytes)
    journal = _journal(plan)
    proto = apply(journal, source.proto)
    return FoldResult(
        as_given(model, proto),
        tuple(plan.folded),
        (*inference.diagnostics, *plan.left),
        journal,
        source,
        proto,
    )


def _journal(plan: Plan) -> Journal:
    journal = Journal()
    for folded in plan.constants:
        tensor = folded.value.to_tensor(folded.name)
        journal.add(
            AddInitializer(
                by=_BY, reason=f"result of {folded.node}", path=folded.graph, cost=folded.value.nbytes, tensor=tensor
            )
        )
    for folded in plan.folded:
        plan.dead.nodes.setdefault(folded.graph, {})[folded.position] = folded.reason
    journal.add(*plan.dead.edits(_BY))
    return journal


def _size(source: ModelFile, proto: ModelProto) -> Size:
    operators: Counter[str] = Counter()
    initializers = 0
    for _, body in bodies(proto):
        for node in body.node:
            operators[qualified(node.domain, node.op_type)] += 1
        initializers += len(getattr(body, "initializer", ()))
    return Size(operators, initializers, sum(_nbytes(source, t) for t in iter_tensors(proto)))


def _nbytes(source: ModelFile, tensor: TensorProto) -> int:
    try:
        return source.nbytes(tensor)
    except ModelReadError:  # a type that ONNX does not have, a negative dim: the inference has reported it
        return 0
