"""The freezing pass: dims of the interface become the numbers that are given, and nothing else changes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gather_infer.diagnostic import Diagnostic
from gather_infer.errors import ModelStructureError, UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.interface import UNCHANGED, declare
from gather_infer.model import ModelFile, SaveReport
from gather_infer.model.edits import Journal
from gather_infer.model.given import GivenModel, as_given, to_onnx_file
from gather_infer.model.index import GraphIndex
from gather_infer.passes.result import PassResult
from gather_infer.places import NodePath
from gather_infer.progress import Progress, unseen
from gather_infer.rules import RuleSet


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class FreezeResult(PassResult):
    """A model with numbers in its interface; `interface` tells what changed, and what is no number yet.

    inputs    names of the inputs, without those that are constants
    refused   errors that the model has with these sizes, and had not without them: then it is as it was given
    """

    refused: tuple[Diagnostic, ...]
    inputs: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<FreezeResult of {self.source.name}: refused>" if self.refused else PassResult.__repr__(self)

    def save(
        self, path: str | os.PathLike[str], *, external_data: str | None = None, in_place: bool = False
    ) -> SaveReport:
        """Write the model, whole or not at all. Raises UsageError when it is refused, and as `PassResult.save`."""
        if self.refused:
            raise UsageError(f"{self.source.name}: the sizes contradict the model: {self.refused[0].message}")
        return PassResult.save(self, path, external_data=external_data, in_place=in_place)


def freeze(
    model: GivenModel,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    progress: Progress = unseen,
) -> FreezeResult:
    """The model with dims of its inputs as numbers, and those of outputs that follow; `gather_infer.freeze`.

    Inputs, outputs and the `value_info` that is there say the numbers, in subgraphs too where they are proved; an
    output without a shape gets the one that is known. Bounds and relations among `dims` are recorded in the metadata.
    Nodes, weights and all else stay as they are.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims, inputs, rules, progress   as for `infer`

    Raises ModelReadError when the model cannot be read, ModelStructureError for a cycle or a name that is defined
    twice, UsageError as `infer`.

        >>> frozen = gather_infer.freeze("fixtures/bert-torchscript.onnx", dims=["batch=1", "seq=64"])
        >>> print(frozen.interface.open)
        ()
    """
    source = to_onnx_file(model)
    source.require_data()
    for finding in GraphIndex(source.proto).findings:
        if finding.code in ("GI101", "GI102"):
            raise ModelStructureError(f"{source.name}: {finding.message}")
    dims = dims if isinstance(dims, (str, Mapping)) else tuple(dims)
    inference = infer(source, dims=dims, inputs=inputs, rules=rules, assume=False, progress=progress)
    refused = _contradictions(source, inference, rules)
    proto, interface = (source.proto, UNCHANGED) if refused else declare(source.proto, inference, rests=True)
    if proto is source.proto:
        proto = type(proto)()
        proto.CopyFrom(source.proto)
    return FreezeResult(
        model=as_given(model, proto),
        diagnostics=(
            *inference.diagnostics,
            *(error for error in inference.errors if error not in inference.diagnostics),
        ),
        journal=Journal(),
        source=source,
        proto=proto,
        interface=interface,
        refused=refused,
        inputs=inference.inputs,
    )


def _contradictions(source: ModelFile, inference: Inference, rules: Sequence[RuleSet]) -> tuple[Diagnostic, ...]:
    """The errors that a model has for what is given alone."""
    if not inference.errors:
        return ()
    before = {_key(finding) for finding in infer(source, rules=rules, assume=False).errors}
    return tuple(finding for finding in inference.errors if _key(finding) not in before)


def _key(finding: Diagnostic) -> tuple[str, NodePath | None, str, str]:
    return finding.code, finding.location.node, finding.location.value, finding.location.graph
