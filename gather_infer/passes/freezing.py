"""The freezing pass: sets dims of the interface to given numbers, and changes nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.errors import UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.failures import conditional_bodies, rejectable_nodes
from gather_infer.inference.interface_types import UNCHANGED, declare
from gather_infer.ir import Model, require_well_formed
from gather_infer.model import ModelFile
from gather_infer.model.edits import Journal
from gather_infer.model.model_loading import ModelLike, to_caller_type, to_onnx_file, with_constants
from gather_infer.node_ids import NodePath
from gather_infer.passes.result import PassResult
from gather_infer.progress import Progress, no_progress
from gather_infer.rules import RuleSet


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class FreezeResult(PassResult):
    """A model with static dims in its interface; `interface` lists the changes, and the dims that are still dynamic.

    inputs    names of the inputs, without those that are constants
    refused   errors that the model has with these sizes only; if there are any, the model is left as it was
    loads     False if the sizes are refused because a loader may reject the file for a node that some runs skip
    """

    refused: tuple[Diagnostic, ...]
    inputs: tuple[str, ...]
    loads: bool = True

    @property
    def why_refused(self) -> str:
        """The reason why a model with refused sizes is not written; meaningless unless `refused` has entries."""
        return "the sizes contradict the model" if self.loads else "the file may not load with these sizes"

    def __repr__(self) -> str:
        return f"<FreezeResult of {self.source.name}: refused>" if self.refused else PassResult.__repr__(self)

    @property
    def refusal(self) -> UsageError | None:
        return (
            UsageError(f"{self.source.name}: {self.why_refused}: {self.refused[0].message}") if self.refused else None
        )


def freeze(
    model: ModelLike,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
    progress: Progress = no_progress,
) -> FreezeResult:
    """Set dims of the inputs to numbers, and the dims of outputs that follow; `gather_infer.freeze`.

    Inputs, outputs and the existing `value_info` declare the numbers, in subgraphs too where they are proved. An output
    without a shape gets the inferred one. Bounds and relations among `dims` are recorded in the metadata. Nodes and
    weights stay as they are. A failure with these sizes in a branch that some runs skip is a warning. If a loader may
    reject the file for it, the sizes are refused, whether or not a run takes the branch.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims, inputs, rules, progress   as for `infer`
    initializers_as_constants   an initializer that is an input too is a constant, and no input of the result

    Raises ModelReadError when the model cannot be read, ModelStructureError for a cycle or a name that is defined
    twice, UsageError as `infer`.

        >>> frozen = gather_infer.freeze("fixtures/bert-torchscript.onnx", dims=["batch=1", "seq=64"])
        >>> print(frozen.interface.dynamic_dims)
        ()
    """
    source = to_onnx_file(model)
    if initializers_as_constants:
        source = with_constants(source)
    source.require_data()
    require_well_formed(Model(source.proto), source.name)
    dims = dims if isinstance(dims, (str, Mapping)) else tuple(dims)
    inference = infer(source, dims=dims, inputs=inputs, rules=rules, assume=False, progress=progress)
    refused, unloadable = _contradictions(source, inference, rules)
    proto, interface = source.proto, UNCHANGED
    if not refused and not unloadable:
        proto, interface = declare(proto, inference, is_relied_on=True, outputs=True)
    if proto is source.proto:
        proto = type(proto)()
        proto.CopyFrom(source.proto)
    return FreezeResult(
        model=to_caller_type(model, proto),
        diagnostics=_all_diagnostics(inference, unloadable),
        journal=Journal(),
        source=source,
        proto=proto,
        interface=interface,
        refused=refused or tuple(map(_as_error, unloadable)),
        inputs=inference.inputs,
        loads=bool(refused) or not unloadable,
    )


def _contradictions(
    source: ModelFile, inference: Inference, rules: Sequence[RuleSet]
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """The errors that the given sizes cause, and failures in skipped branches for which loaders may reject a file."""
    spared = (*(d for d in inference.diagnostics if d.conditional_bodies), *inference.unreachable)
    if not inference.errors and not spared:
        return (), ()
    without = infer(source, rules=rules, assume=False)
    failing = (*without.errors, *(d for d in without.diagnostics if d.is_failure), *without.unreachable)
    before = set(map(_key, failing))
    errors = tuple(finding for finding in inference.errors if _key(finding) not in before)
    new = [finding for finding in spared if _key(finding) not in before]
    refused = rejectable_nodes(inference, new)
    return errors, tuple(_with_branches(finding, inference) for finding in new if finding in refused)


def _with_branches(finding: Diagnostic, inference: Inference) -> Diagnostic:
    """A failure for which a loader may reject the file; its detail lists the enclosing branches that never run."""
    if finding.conditional_bodies or finding.location.node is None:
        return finding
    bodies = (
        inference.conditions[body] for body in conditional_bodies(finding.location.node.graph, inference.conditions)
    )
    where = (f"{body.name} of node {body.node} never runs with these sizes" for body in bodies)
    return replace(finding, detail=(*finding.detail, *where))


def _as_error(finding: Diagnostic) -> Diagnostic:
    return replace(finding, severity=Severity.ERROR, conditional_bodies=())


def _all_diagnostics(inference: Inference, unloadable: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """All diagnostics; accesses that are always out of bounds, and the failures in `unloadable`, are errors."""
    places = set(map(_key, unloadable))
    found = tuple(finding for finding in inference.diagnostics if _key(finding) not in places)
    errors = (error for error in inference.errors if error not in inference.diagnostics)
    return *found, *errors, *map(_as_error, unloadable)


def _key(finding: Diagnostic) -> tuple[str, NodePath | None, str, str]:
    return finding.code, finding.location.node, finding.location.value, finding.location.graph
